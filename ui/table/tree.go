package table

// The tree puts children below their parents. Processes that one launcher has started stand
// together, even if the launcher uses no GPU itself: torchrun, a shell, a step of a batch job.
//
//	train.py --rank 0      one launcher's
//	└─loader.py            started by rank 0
//	train.py --rank 1
//	eval.py                on its own

// tree orders rows as a tree. A row is identified by its index in the sorted list.
type tree struct {
	rows     []Row
	children map[int][]int // by the first row of a process
	ordered  []Row
	placed   []bool
}

func underParents(rows []Row) {
	first := make(map[int]int, len(rows)) // the first row of each process
	for i := range rows {
		pid := rows[i].Process.ID.Process.PID
		if _, ok := first[pid]; !ok {
			first[pid] = i
		}
	}
	t := tree{
		rows: rows, children: make(map[int][]int, len(rows)),
		ordered: make([]Row, 0, len(rows)), placed: make([]bool, len(rows)),
	}
	var roots []int
	started := make(map[int][]int) // by launchers without a row
	for i := range rows {
		p := rows[i].Process
		parent, ok := first[p.Parent]
		if ok && p.Parent != p.ID.Process.PID {
			t.children[parent] = append(t.children[parent], i)
			continue
		}
		roots = append(roots, i)
		// Init adopts orphans, which need not belong together.
		if p.Parent > 1 && !ok {
			started[p.Parent] = append(started[p.Parent], i)
		}
	}
	for _, root := range roots {
		for _, i := range started[rows[root].Process.Parent] {
			t.place(i, 0)
		}
		t.place(root, 0)
	}
	// Rows that are each other's parents, by a reused PID, have no root.
	for i := range rows {
		t.place(i, 0)
	}
	copy(rows, t.ordered)
}

// place appends a row and, below it, its children.
func (t *tree) place(i, depth int) {
	if t.placed[i] {
		return
	}
	t.placed[i] = true
	r := t.rows[i]
	r.depth = depth
	t.ordered = append(t.ordered, r)
	for _, child := range t.children[i] {
		t.place(child, depth+1)
	}
}
