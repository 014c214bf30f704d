package sources

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// TestDriverMessagesAsDrawn compares the messages with golden files.
func TestDriverMessagesAsDrawn(t *testing.T) {
	absent := &nvml.Error{Name: "ERROR_LIBRARY_NOT_FOUND", Call: "dlopen", Kind: nvml.ErrLibraryNotFound}
	unloaded := &nvml.Error{Name: "ERROR_DRIVER_NOT_LOADED", Call: "nvmlInit_v2", Kind: nvml.ErrDriverNotLoaded}
	for _, tc := range []struct {
		name    string
		code    int
		snap    snapshot.Driver
		said    nvml.Driver
		visible string // NVIDIA_VISIBLE_DEVICES
	}{
		{"nolibrary.err", command.ExitNoLibrary, snapshot.Driver{State: snapshot.DriverAbsent, Err: absent}, nvml.Driver{}, ""},
		{"notloaded.err", command.ExitNoDriver, snapshot.Driver{State: snapshot.DriverNotLoaded, Err: unloaded}, nvml.Driver{LibraryVersion: "550.163.01"}, ""},
		{"nogpu.err", command.ExitNoDriver, snapshot.Driver{State: snapshot.DriverOK}, nvml.Driver{Version: "550.163.01"}, "void"},
		{"nogpu_here.err", command.ExitNoDriver, snapshot.Driver{State: snapshot.DriverOK}, nvml.Driver{Version: "550.163.01"}, ""},
	} {
		snap := &snapshot.Snapshot{Host: snapshot.Host{Name: "h100-03"}, Driver: tc.snap}
		p := &command.Program{Getenv: func(name string) string { return map[string]string{"NVIDIA_VISIBLE_DEVICES": tc.visible}[name] }}
		src := &Set{Program: p, Settings: &config.Settings{}, Driver: &driverSource{driver: tc.said}}
		err := src.Unusable(snap)
		var out bytes.Buffer
		if code := command.Report(&out, err); code != tc.code || command.ExitCode(err) != tc.code {
			t.Errorf("%s: exit code %d, want %d", tc.name, code, tc.code)
		}
		t.Run(tc.name, func(t *testing.T) { golden.RequireEqual(t, out.Bytes()) })
		if tc.snap.Err != nil && !errors.Is(err, tc.snap.Err) {
			t.Errorf("%s: the cause is lost", tc.name)
		}
		// A probe that answers is something to show.
		if tc.snap.State != snapshot.DriverOK {
			snap.Driver.ProbesAnswering = 1
			if err := src.Unusable(snap); err != nil {
				t.Errorf("%s: with a probe: %v", tc.name, err)
			}
		}
	}
}

// TestEveryFailureSaysWhatToDo combines the errors of opening the driver with states of the driver.
func TestEveryFailureSaysWhatToDo(t *testing.T) {
	for _, kind := range []error{
		nvml.ErrLibraryNotFound, nvml.ErrDriverNotLoaded, nvml.ErrNoCgo, nvml.ErrVersionMismatch, nvml.ErrNoPermission,
		nvml.ErrTimeout, nvml.ErrBusy, io.ErrUnexpectedEOF, nil,
	} {
		for _, state := range []snapshot.DriverState{
			snapshot.DriverAbsent, snapshot.DriverNotLoaded, snapshot.DriverGone, snapshot.DriverNoCgo, snapshot.DriverStarting,
		} {
			snap := &snapshot.Snapshot{Driver: snapshot.Driver{State: state}}
			if kind != nil {
				snap.Driver.Err = fmt.Errorf("nvml: open: %w", kind)
			}
			src := &Set{Program: &command.Program{}, Settings: &config.Settings{}, Driver: &driverSource{}}
			err := src.Unusable(snap)
			var f *command.Failure
			if !errors.As(err, &f) || f.Message == "" || len(f.Next) == 0 || f.Code != command.ExitNoDriver && f.Code != command.ExitNoLibrary {
				t.Errorf("%s, %v: %+v", state, kind, err)
			}
		}
	}
}

func TestFileThatIsNoLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := noLibrary("h100-03", path, &nvml.Error{Kind: nvml.ErrLibraryNotFound, Detail: path + ": file too short\x1b[2J"})
	if want := "no NVIDIA driver library on h100-03: " + path + ": file too short?[2J"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
