package gpus

import "vramscope/sampler/snapshot"

type Line struct {
	GPU      *snapshot.GPU
	Instance *snapshot.Instance // nil: the GPU itself
	number   int                // of the instance, from 1
}

func (line Line) Place() snapshot.Place {
	at := snapshot.Place{GPUUUID: line.GPU.UUID}
	if line.Instance != nil {
		at.Instance = line.Instance.ID
	}
	return at
}

func (line Line) memory() *snapshot.Memory {
	if line.Instance != nil {
		return &line.Instance.Memory
	}
	return &line.GPU.Memory
}

func (line Line) parts() *snapshot.Parts {
	if line.Instance != nil {
		return &line.Instance.Parts
	}
	return &line.GPU.Parts
}

// free returns the memory that a process could allocate; unknown for a GPU with MIG instances, which have the memory, and
// for a GPU that does not answer.
func (line Line) free() snapshot.Bytes {
	if line.Instance == nil && (len(line.GPU.Instances) > 0 || line.GPU.State != snapshot.GPUOK) {
		return snapshot.Bytes{}
	}
	return line.memory().Free
}

// flush returns what flushes of all processes there would free; unknown for a GPU that does not answer.
func (line Line) flush() snapshot.Bytes {
	if line.Instance == nil && line.GPU.State != snapshot.GPUOK {
		return snapshot.Bytes{}
	}
	return line.parts().Returnable
}
