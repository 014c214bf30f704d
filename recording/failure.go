package recording

import (
	"encoding/json"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// failure is the column ooms.detail: the allocation that failed, as its process
// reports it. What is unknown is null.
type failure struct {
	RequestedBytes   *quantity.Bytes `json:"requested_bytes"`
	FreeBytes        *quantity.Bytes `json:"free_bytes"`
	LimitBytes       *quantity.Bytes `json:"limit_bytes"`
	Allocator        string          `json:"allocator"`
	ReservedBytes    *quantity.Bytes `json:"reserved_bytes"`
	AllocatedBytes   *quantity.Bytes `json:"allocated_bytes"`
	LargestFreeBytes *quantity.Bytes `json:"largest_free_bytes"`
	API              string          `json:"api"`
	Library          string          `json:"library"`
	Config           string          `json:"config"`
}

func failureText(of *snapshot.OutOfMemory) any {
	pointer := func(value snapshot.Bytes) *quantity.Bytes {
		if v, ok := value.Value(); ok {
			return &v
		}
		return nil
	}
	encoded, err := json.Marshal(failure{
		pointer(of.Requested), pointer(of.Free), pointer(of.Limit), text.Clean(of.Allocator), pointer(of.Reserved),
		pointer(of.Allocated), pointer(of.LargestFree), text.Clean(of.API), text.Clean(of.Library), text.Clean(of.Config),
	})
	if err != nil {
		return nil
	}
	return string(encoded)
}

// failureOf is the allocation that failed, nil where only the error is known.
func failureOf(detail string) *snapshot.OutOfMemory {
	var f failure
	if detail == "" || json.Unmarshal([]byte(detail), &f) != nil {
		return nil
	}
	value := func(pointer *quantity.Bytes) snapshot.Bytes {
		if pointer == nil {
			return snapshot.Bytes{}
		}
		return quantity.From(*pointer, quantity.Probe)
	}
	return &snapshot.OutOfMemory{
		Requested: value(f.RequestedBytes), Free: value(f.FreeBytes), Limit: value(f.LimitBytes), Allocator: f.Allocator,
		Reserved: value(f.ReservedBytes), Allocated: value(f.AllocatedBytes), LargestFree: value(f.LargestFreeBytes),
		API: f.API, Library: f.Library, Config: f.Config,
	}
}
