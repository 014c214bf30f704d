package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// commandOf is what a process runs, as a table shows it.
func commandOf(p *snapshot.Process) string {
	if p.ID.Process.Foreign() {
		return "pid of another container"
	}
	return text.Clean(process.ShortCommand(p.Command, p.Name))
}

// placeOf is "5", or "5:1" for the first MIG instance of GPU 5.
func (t *table) placeOf(p *snapshot.Process) string {
	if p.ID.Instance.MIG {
		if g := t.snap.GPU(p.ID.GPUUUID); g != nil && g.Instance(p.ID.Instance) != nil {
			return instanceName(p.GPU, g.InstanceNumber(p.ID.Instance))
		}
		return instanceName(p.GPU, int(p.ID.Instance.GPU)) // of an instance that is not there any more
	}
	return strconv.Itoa(p.GPU)
}

func instanceName(gpu, number int) string { return fmt.Sprintf("%d:%d", gpu, number) }

// users lists who is on a GPU, or on one of its instances, the biggest first.
func (t *table) users(uuid string, instance *snapshot.InstanceID) string {
	var rows []*snapshot.Process
	for p := range t.snap.GPURows(uuid) {
		if instance == nil || p.ID.Instance == *instance {
			rows = append(rows, p)
		}
	}
	slices.SortStableFunc(rows, bySize)
	var names []string
	for _, p := range rows {
		if name := oneWord(cmp.Or(p.User, "?")); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return t.signs.dash
	}
	return strings.Join(names, ",")
}
