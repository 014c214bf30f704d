//go:build linux

package attach

import (
	"fmt"
	"os"
	"testing"
	"time"

	"vramscope/internal/process"
)

// setState replaces the state in the fixture's /proc/PID/stat.
func (f *fixture) setState(state string) {
	f.Helper()
	f.write(fmt.Sprintf("500 (python3) %s 1 1 1 0", state), f.of("stat.new"))
	if err := os.Rename(f.of("stat.new"), f.of("stat")); err != nil {
		f.Fatal(err)
	}
}

// hungGdb is a gdb that stops the process, then does not answer, and detaches 0.4 s
// after the end of its input.
const hungGdb = `#!/bin/sh
state() { echo "500 (python3) $1 1 1 1 0" > %[1]s.new; mv %[1]s.new %[1]s; }
while read -r line; do
	case $line in
	"echo "*) printf "${line#echo }" ;;
	attach*)
		state t
		cat > /dev/null
		sleep 0.4
		state S
		exit 0 ;;
	esac
done
`

func TestStandstillIncludesHungGdb(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.attacher()
	plan := a.Examine(t.Context(), process.Identity{PID: fixturePID, StartTime: fixtureStart})
	if !plan.Possible() {
		t.Fatal(plan.Refusal())
	}
	plan.python = &python{} // the fixture has no memory to verify
	f.write(fmt.Sprintf(hungGdb, f.of("stat")), f.gdb)
	load, err := newPayload(born{}, &status{})
	if err != nil {
		t.Fatal(err)
	}
	defer load.remove()
	a.answerTime = time.Second
	began := time.Now()
	stood, err := a.inject(t.Context(), &plan, load)
	took := time.Since(began)
	if err == nil {
		t.Fatal("inject succeeded with a gdb that hangs")
	}
	if least := a.answerTime + 300*time.Millisecond; stood < least || stood > took {
		t.Errorf("standstill %v of %v, want at least %v (%v)", stood, took, least, err)
	}
}

func TestStandstillCountsStopLeftByGdb(t *testing.T) {
	t.Parallel()
	f := bareFixture(t)
	for _, tc := range []struct {
		states string
		least  time.Duration
	}{
		{"tTS", 300 * time.Millisecond}, // gdb was killed and left the process stopped
		{"STS", 0},                      // stopped by its own user
	} {
		f.setState("S")
		watch := watchStandstill(f.proc, fixturePID)
		for _, state := range tc.states {
			f.setState(string(state))
			time.Sleep(250 * time.Millisecond)
		}
		if stood := watch.end(); stood < tc.least || tc.least == 0 && stood != 0 {
			t.Errorf("states %s: standstill %v, want at least %v", tc.states, stood, tc.least)
		}
	}
}
