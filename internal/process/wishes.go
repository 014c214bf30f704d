package process

import (
	"bytes"
	"strconv"
	"strings"

	"vramscope/internal/quantity"
)

// Wishes are what a process's environment says to a guard. Both are unknown where
// the environment may not be read.
type Wishes struct {
	Importance  quantity.Optional[int]    // VRAMSCOPE_IMPORTANCE; unknown also where it is not set
	Distributed quantity.Optional[string] // why it is a part of a distributed job: "WORLD_SIZE=8"; "" where it is none
}

// sizes are the variables with the number of processes of a distributed job: of
// torchrun, Open MPI and MPICH or PMIx.
var sizes = []string{"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}

// wishesIn reads an environment.
func wishesIn(environment []byte) Wishes {
	w := Wishes{Distributed: quantity.From("", quantity.System)}
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		number, err := strconv.Atoi(value)
		if err != nil {
			continue
		}
		if name == "VRAMSCOPE_IMPORTANCE" {
			w.Importance = quantity.From(number, quantity.System)
		}
		for _, size := range sizes {
			if name == size && number > 1 {
				w.Distributed = quantity.From(size+"="+strconv.Itoa(number), quantity.System)
			}
		}
	}
	return w
}
