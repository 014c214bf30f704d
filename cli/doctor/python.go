package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"vramscope/cli/sources"
	"vramscope/internal/process"
	"vramscope/internal/sorted"
	"vramscope/internal/text"
	"vramscope/probe/attach"
)

const (
	mostPythons  = 8               // doctor examines this many one by one
	pythonsTime  = 5 * time.Second // for all of them
	commandCells = 40
)

// pythons reports whether the Python processes of this /proc could get a probe. Those
// on a GPU come first, then the newest. Other users' are only counted.
func (b *Box) pythons() []finding {
	table := b.Table
	if table == nil {
		return nil // a simulated box
	}
	ctx, cancel := context.WithTimeout(context.Background(), pythonsTime)
	defer cancel()
	a := sources.WaysInto(table)
	onGPU := make(map[int]int) // 1
	for i := range b.Snapshot.Rows {
		onGPU[b.Snapshot.Rows[i].ID.Process.PID] = 1
	}
	all := a.Pythons(ctx)
	if len(all) == 0 {
		return []finding{{verdict: neither, what: "running", text: "none in this /proc"}}
	}
	all, others := ownersOf(all, os.Geteuid(), func(id process.Identity) (uint32, bool) {
		info, err := table.Look(id.PID)
		uid, known := info.UID.Value()
		return uid, known && err == nil
	})
	sorted.Stable(all, func(x, y process.Identity) int {
		return cmp.Or(onGPU[y.PID]-onGPU[x.PID], cmp.Compare(y.StartTime, x.StartTime))
	})
	var found []finding
	for i, id := range all {
		if i == mostPythons || ctx.Err() != nil {
			found = append(found, finding{verdict: neither, what: "more", text: fmt.Sprintf("%d others: vramscope attach PID --dry-run", len(all)-i)})
			break
		}
		plan := a.Examine(ctx, id)
		if now, err := table.Identify(id.PID); err != nil || now.StartTime != id.StartTime {
			continue // it has ended meanwhile
		}
		if ctx.Err() == nil {
			found = append(found, pythonFinding(&plan))
		}
	}
	if others > 0 {
		found = append(found, finding{verdict: neither, what: "other users", text: fmt.Sprintf("%d: each can attach to their own only", others)})
	}
	return found
}

// ownersOf separates and counts the processes that are certainly another user's.
func ownersOf(all []process.Identity, uid int, owner func(process.Identity) (uint32, bool)) (own []process.Identity, others int) {
	own = slices.DeleteFunc(slices.Clone(all), func(id process.Identity) bool {
		owned, known := owner(id)
		return known && int(owned) != uid
	})
	return own, len(all) - len(own)
}

func pythonFinding(plan *attach.Plan) finding {
	f := finding{verdict: works, what: fmt.Sprintf("PID %d", plan.Process.PID)}
	name := text.Cut(text.Clean(process.ShortCommand(plan.Command, "")), commandCells, "…")
	if name != "" {
		name = "  " + name
	}
	var reasons []string
	for _, check := range plan.Checks {
		if !check.OK {
			reasons = append(reasons, text.Clean(check.Text))
		}
	}
	switch {
	case plan.HasProbe:
		f.text = "has a probe" + name
	case plan.Possible():
		f.text = fmt.Sprintf("can get one (%s, %s)%s", plan.Version, plan.Method, name)
	default:
		f.verdict = neither
		f.text = "cannot get one" + name
		f.next = []string{strings.Join(reasons, "; ")}
	}
	return f
}
