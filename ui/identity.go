package ui

import "vramscope/sampler/snapshot"

// rowOf finds a row that is there, nil where it is not.
func rowOf(s *snapshot.Snapshot, id snapshot.RowID) *snapshot.Process {
	if s == nil {
		return nil
	}
	for i := range s.Rows {
		if s.Rows[i].ID == id {
			return &s.Rows[i]
		}
	}
	return nil
}

// goneOf finds a row that has ended, nil where it is not remembered.
func goneOf(s *snapshot.Snapshot, id snapshot.RowID) *snapshot.Gone {
	if s == nil {
		return nil
	}
	for i := range s.Gone {
		if s.Gone[i].Last.ID == id {
			return &s.Gone[i]
		}
	}
	return nil
}

// gpuOf finds a GPU, nil where the snapshot has none of that UUID.
func gpuOf(s *snapshot.Snapshot, uuid string) *snapshot.GPU {
	if s == nil {
		return nil
	}
	for i := range s.GPUs {
		if s.GPUs[i].UUID == uuid {
			return &s.GPUs[i]
		}
	}
	return nil
}

// instanceOf finds a MIG instance of a GPU, nil where it is not there.
func instanceOf(gpu *snapshot.GPU, id snapshot.InstanceID) *snapshot.Instance {
	for i := range gpu.Instances {
		if gpu.Instances[i].ID == id {
			return &gpu.Instances[i]
		}
	}
	return nil
}
