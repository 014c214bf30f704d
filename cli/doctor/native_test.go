//go:build linux && cgo

package doctor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/internal/process"
	"vramscope/probe/preload"
	"vramscope/sampler/snapshot"
)

func TestNativeNamesProgramsThatCanGetNoProbe(t *testing.T) {
	if errors.Is(preload.Usable(t.TempDir()), preload.ErrNoLibrary) {
		t.Skip("there is no library to preload here")
	}
	path := filepath.Join(t.TempDir(), "waiting")
	source := path + ".c"
	if err := os.WriteFile(source, []byte("#include <unistd.h>\nint main(void) { char c; return (int)read(0, &c, 1); }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-static", source, "-o", path).CombinedOutput(); err != nil {
		needs.Missing(t, "no static program can be built: %v\n%s", err, out)
	}
	cmd := exec.Command(path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	row := func(pid int, start uint64) snapshot.Process {
		return snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: pid, StartTime: start}}, Name: "waiting"}
	}
	probed := row(cmd.Process.Pid, 1)
	probed.Probe = &snapshot.Probe{}
	for name, c := range map[string]struct {
		rows []snapshot.Process
		want bool
	}{
		"one without a probe, on two GPUs": {[]snapshot.Process{row(cmd.Process.Pid, 1), row(cmd.Process.Pid, 1)}, true},
		"one with a probe":                 {[]snapshot.Process{probed}, false},
		"one of another container":         {[]snapshot.Process{row(cmd.Process.Pid, 0)}, false},
		"one that could have had it":       {[]snapshot.Process{row(os.Getpid(), 1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := Box{Snapshot: &snapshot.Snapshot{Rows: c.rows}}
			found := b.native()
			at := slices.IndexFunc(found, func(f finding) bool { return f.what == "PID "+strconv.Itoa(cmd.Process.Pid) })
			if (at >= 0) != c.want || len(found) > 2 || found[0].verdict != works {
				t.Fatalf("it says %+v", found)
			}
			if c.want && !strings.Contains(found[at].text, "waiting: it is statically linked") {
				t.Errorf("the reason is %q", found[at].text)
			}
		})
	}
	blank := Box{CacheErr: preload.Usable("/a blank"), Snapshot: &snapshot.Snapshot{}}
	if found := blank.native(); len(found) != 1 || found[0].verdict != fails || len(found[0].next) == 0 {
		t.Errorf("where the library cannot be put it says %+v", found)
	}
}
