//go:build linux && cgo

package reallibraries

import (
	"encoding/json"
	"strconv"
	"testing"

	"vramscope/guard/advice"
	"vramscope/internal/needs"
	"vramscope/internal/quantity"
	"vramscope/memoryviz/whatif"
)

// TestFragmentationAgainstTheReplay: for a program that runs out of memory, the rule about
// fragmentation says whether expandable segments would have been enough. In nine of ten cases it must
// agree with the replay under that setting.
func TestFragmentationAgainstTheReplay(t *testing.T) {
	beyondCore(t)
	needs.Tool(t, "python3")
	b := newWhatIfBox(t, needs.Vramscope(t), releases(t, "torch")[0])
	errors, wrong := 0, 0
	for _, program := range b.programs(whatIfPrograms) {
		var whole outcome
		b.decode(&whole, "python3", "-W", "ignore", "whatif_job.py", program)
		for _, share := range []quantity.Bytes{1, 5} { // tenths of the memory that is reserved and never allocated
			room := whole.Allocated + (whole.Reserved-whole.Allocated)*share/10
			directory := t.TempDir()
			var then outcome
			b.decode(&then, b.vramscope, "run", "--record-memory", directory, "--", "python3", "-W", "ignore", "whatif_job.py", program, strconv.Itoa(int(room)))
			if !*then.Failed {
				continue
			}
			errors++
			got := b.replay(b.only(directory), 0, "expandable_segments:True")
			if own := got[0]; own.Failed == nil || !*own.Failed {
				t.Fatalf("%s in %s: its own settings do not fail: %+v", program, room, own)
			}
			fits, inside, lacking := !*got[1].Failed, then.Then-then.AllocatedThen, then.Asked-then.Free
			a, ok := advice.Fragmented("pytorch", "", inside, then.Then, lacking)
			enough := ok && a.Bytes.Or(0) >= lacking
			if enough != fits {
				wrong++
			}
			t.Logf("%s in %s: asked for %s, lacking %s, %s free inside of %s reserved: by the rule %t, replayed %t",
				program, room, then.Asked, lacking, inside, then.Then, enough, fits)
		}
	}
	if errors < 10 || wrong*10 > errors {
		t.Errorf("of %d errors the rule is wrong about %d", errors, wrong)
	}
}

// outcome is what whatif_job.py prints.
type outcome struct {
	whatif.Result
	Asked         quantity.Bytes `json:"asked"` // by the allocation that failed
	Free          quantity.Bytes `json:"free"`
	Then          quantity.Bytes `json:"reserved"`
	AllocatedThen quantity.Bytes `json:"allocated"`
}

func (b *whatIfBox) decode(into *outcome, name string, args ...string) {
	b.t.Helper()
	out := b.answer(name, args...)
	if err := json.Unmarshal(out, into); err != nil || into.Failed == nil {
		b.t.Fatalf("%s %q: %s, %v", name, args, out, err)
	}
}
