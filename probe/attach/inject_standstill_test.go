//go:build linux

package attach

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
)

// hungGdb is a gdb that stops the process, then does not answer, and detaches 1 s
// after the end of its input. It records how long the process was stopped, in ns.
const hungGdb = `#!/bin/sh
state() { echo "500 (python3) $1 1 1 1 0" > %[1]s.new; mv %[1]s.new %[1]s; }
while read -r line; do
	case $line in
	"echo "*) printf "${line#echo }" ;;
	attach*)
		state t
		stopped=$(date +%%s%%N)
		cat > /dev/null
		sleep 1
		echo $(($(date +%%s%%N) - stopped)) > %[2]s
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
	record := filepath.Join(t.TempDir(), "stopped")
	f.write(fmt.Sprintf(hungGdb, f.of("stat"), record), f.gdb)
	load, err := newPayload(false, &status{}, "", "")
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
	content, failed := os.ReadFile(record)
	if failed != nil {
		t.Fatal(failed)
	}
	ns, failed := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	if failed != nil {
		t.Fatal(failed)
	}
	// If the time in which gdb did not answer, or the time after that, were not counted, 1 s
	// would be missing. A busy machine may show the stop late.
	if stopped := time.Duration(ns); stood < stopped-a.answerTime/2 || stood > took {
		t.Errorf("standstill %v of %v, stopped for %v (%v)", stood, took, stopped, err)
	}
}

// TestEndDuringAttachIsTold: the error says how the process has ended, and whether attaching may be
// the reason.
func TestEndDuringAttachIsTold(t *testing.T) {
	for _, python := range anyPythons(t) {
		for end, want := range map[string]string{
			"os._exit(3)":                          "the process has exited (status 3) while the probe was starting in it, ",
			"os.kill(os.getpid(), signal.SIGSEGV)": "the process has exited (SIGSEGV) while the probe was starting in it, ",
		} {
			cmd := exec.Command(python, "-uc", `
import builtins, os, signal, time
def ends(source, name, *arguments, original=compile):
    if name == "<vramscope_probe>":
        `+end+`
    return original(source, name, *arguments)
builtins.compile = ends
print()
while True:
    time.sleep(.01)`)
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+shortDir(t))
			output, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := output.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			_, err = examineAndEnter(t.Context(), testAttacher(), identify(t, cmd.Process.Pid))
			if !errors.Is(err, errExited) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			_ = cmd.Process.Kill() // it has ended
			_ = cmd.Wait()         // as it should
		}
		return
	}
}
