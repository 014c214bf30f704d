package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
)

// figures is what a script would read from the JSON output.
type figures struct {
	GPUs []struct {
		UUID   string
		State  string
		Memory struct {
			Total    *uint64 `json:"total_bytes"`
			Used     *uint64 `json:"used_bytes"`
			Free     *uint64 `json:"free_bytes"`
			Reserved *uint64 `json:"reserved_bytes"`
		}
		Utilization *uint64  `json:"utilization_percent"`
		Temperature *uint64  `json:"temperature_celsius"`
		Power       *float64 `json:"power_watts"`
		Processes   []struct {
			PID  uint64
			User *string
			Used *uint64 `json:"used_bytes"`
		}
	}
}

// TestFiguresEqualTheDriversToTheByte rewrites the driver's state again and again, and checks that
// once reports what the file says.
func TestFiguresEqualTheDriversToTheByte(t *testing.T) {
	if !haveCgo() {
		t.Skip("built without cgo: no driver can be read")
	}
	library := fakedriver.Build(t, fakedriver.Current)
	path := filepath.Join(t.TempDir(), "state")
	environ := append(fakedriver.Environment(library, path), "XDG_CONFIG_HOME="+t.TempDir())

	state := fakedriver.Box(3, 4)
	own := uint64(os.Getpid())
	state.GPUs[0].Start(fakedriver.NewProcess(own, 3<<30+12345))
	steps := []func(){
		func() {},
		func() { state.GPUs[0].Resize(own, 7<<30+1) },
		func() { state.GPUs[1].End(state.GPUs[1].Processes[2].PID) },
		func() { state.GPUs[2].Process(state.GPUs[2].Processes[0].PID).Used = fakedriver.Unavailable },
		func() { state.GPUs[1].Temperature, state.GPUs[1].Power = fakedriver.Absent, fakedriver.Absent },
		func() { state.GPUs[2].Lost = true },
		func() { state.GPUs[2].Lost = false; state.GPUs[0].End(own) },
	}
	for i, step := range steps {
		step()
		state.MustWrite(t, path)
		out, code := vramscope(t, environ, "once", "--format", "json")
		var got figures
		if err := json.Unmarshal(out, &got); err != nil || code != 0 {
			t.Fatalf("step %d: exit code %d, %v: %s", i, code, err, out)
		}
		if len(got.GPUs) != len(state.GPUs) {
			t.Fatalf("step %d: %d GPUs, want %d", i, len(got.GPUs), len(state.GPUs))
		}
		for j := range state.GPUs {
			want, gpu := &state.GPUs[j], &got.GPUs[j]
			where := "step " + strconv.Itoa(i) + ", GPU " + strconv.Itoa(j)
			if want.Lost {
				if gpu.State != "lost" || gpu.Memory.Used != nil {
					t.Errorf("%s is lost, and is %s with %v", where, gpu.State, gpu.Memory.Used)
				}
				continue
			}
			same(t, where+" uuid", &gpu.UUID, want.UUID)
			same(t, where+" total", gpu.Memory.Total, want.Total)
			same(t, where+" used", gpu.Memory.Used, want.Used)
			same(t, where+" free", gpu.Memory.Free, want.Free)
			same(t, where+" reserved", gpu.Memory.Reserved, want.Reserved)
			same(t, where+" utilisation", gpu.Utilization, want.Utilization)
			known(t, where+" temperature", gpu.Temperature, want.Temperature)
			var milliwatts *uint64
			if gpu.Power != nil {
				mw := uint64(*gpu.Power*1000 + .5)
				milliwatts = &mw
			}
			known(t, where+" power", milliwatts, want.Power)
			if len(gpu.Processes) != len(want.Processes) {
				t.Errorf("%s: %d processes, want %d", where, len(gpu.Processes), len(want.Processes))
				continue
			}
			for _, p := range gpu.Processes {
				listed := want.Process(p.PID)
				if listed == nil {
					t.Errorf("%s: a process %d that is not there", where, p.PID)
					continue
				}
				known(t, where+" pid "+strconv.FormatUint(p.PID, 10), p.Used, listed.Used)
				if (p.User != nil) != (p.PID == own) {
					t.Errorf("%s pid %d: user %v; only this test's own process is in /proc", where, p.PID, p.User)
				}
			}
		}
	}
}

func same[T comparable](t *testing.T, what string, got *T, want T) {
	t.Helper()
	if got == nil || *got != want {
		t.Errorf("%s: got %v, want %v", what, shown(got), want)
	}
}

// known is same, for figures that the driver can lack.
func known(t *testing.T, what string, got *uint64, want uint64) {
	t.Helper()
	if want != fakedriver.Absent && want != fakedriver.Unavailable {
		same(t, what, got, want)
	} else if got != nil {
		t.Errorf("%s: got %d, want null", what, *got)
	}
}

func shown[T any](v *T) any {
	if v == nil {
		return "null"
	}
	return *v
}

// vramscope runs this test binary as vramscope.
func vramscope(t *testing.T, environ []string, args ...string) (stdout []byte, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(append(os.Environ(), asVramscope+"=1", "XDG_RUNTIME_DIR="), environ...)
	cmd.Stderr = os.Stderr
	stdout, err = cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return stdout, exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return stdout, 0
}
