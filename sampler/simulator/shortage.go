package simulator

import (
	"time"

	"vramscope/internal/quantity"
)

// shortageScene returns gina's notebook, idle with 22 GiB in its cache, and alice's training, which
// starts beside it and needs more than is free.
func shortageScene() scene {
	book := script(gina, "notebook.py").running(4711, 3*time.Hour).costs(2.2, 0)
	book.runtime, book.context = pytorch, 512*mib
	book.program = playing(serving{
		weights:   weights{size: gib, count: 6},
		workspace: []quantity.Bytes{9 * gib, 7 * gib, 6 * gib},
		quiet:     time.Hour,
	})
	train := script(alice, "train.py", "--cfg", "llama-7b.yaml").costs(31, 104).comes(3*time.Second, span{time.Hour, time.Hour}, span{time.Hour, time.Hour})
	train.runtime, train.context = pytorch, gibibytes(1.6)
	train.program = playing(training{
		weights: weights{size: 320 * mib, count: 96},
		ladder:  ladder{first: 7 * gib, ratio: 1.2, rungs: 3},
		loading: 5 * time.Second,
		every:   1,
	})
	return scene{roles: []role{book, train}}
}
