package ui

import "testing"

// TestFewGPUsGetAGraph: a workstation's screen of 80×24 shows the graph
// and still five rows and more; a server's, or one with MIG instances to show, does not
// give rows away for it.
func TestFewGPUsGetAGraph(t *testing.T) {
	for _, c := range []struct {
		name              string
		width, height     int
		box               box
		rows, graph, gpus int
	}{
		{"one GPU", 80, 24, box{gpus: 1}, 7, 12, 1},
		{"two GPUs", 80, 24, box{gpus: 2}, 6, 12, 2},
		{"two, with a header", 100, 24, box{gpus: 2}, 5, 12, 3},
		{"two in a pane", 80, 22, box{gpus: 2}, 16, 0, 2},
		{"three", 80, 24, box{gpus: 3}, 17, 0, 3},
		{"MIG", 80, 24, box{gpus: 1, instances: 3}, 16, 0, 4},
		{"one on a high screen", 80, 40, box{gpus: 1}, 19, 16, 1},
	} {
		lay := arrange(c.width, c.height, c.box)
		if lay.rows() != c.rows || lay.graph.rows != c.graph || lay.gpus.rows != c.gpus {
			t.Errorf("%s: %d rows, a graph of %d, %d of GPUs; want %d, %d, %d", c.name, lay.rows(), lay.graph.rows, lay.gpus.rows, c.rows, c.graph, c.gpus)
		}
	}
}
