package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"vramscope/cli/command"
	"vramscope/daemon/socket"
	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
	"vramscope/internal/startup"
	"vramscope/probe"
)

// asVramscope makes this test binary run as vramscope.
const asVramscope = "VRAMSCOPE_TEST_AS_VRAMSCOPE"

// everywhere is the value of asVramscope that makes the binary read all probes of this machine, too.
const everywhere = "everywhere"

func TestMain(m *testing.M) {
	switch os.Getenv(asVramscope) {
	case "":
	case everywhere:
		os.Exit(Main())
	default:
		os.Exit(alone())
	}
	testscript.Main(tests{m}, map[string]func(){"vramscope": func() { os.Exit(alone()) }, "liar": beLiar, "asks": beNeighbour, "caches": beNeighbour, "hangs": beNeighbour})
}

// tests runs the tests. The commands of scripts are this binary, too, and their flags are not those of tests.
type tests struct{ *testing.M }

func (t tests) Run() int {
	needs.Parallel(2)
	return t.M.Run()
}

// alone is Main, but sees only the probes, daemons and recordings in XDG_RUNTIME_DIR: those of other
// users of this machine would disturb a test.
func alone() int {
	p := &command.Program{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now, NoStdout: startup.StdoutClosed()}
	p.ProbeDirectories, p.DaemonPlaces, p.Recordings = []string{}, []socket.Place{}, "/nonexistent"
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); runtime != "" {
		p.DaemonDirectory, p.Recordings = filepath.Join(runtime, "vramscope"), filepath.Join(runtime, "recordings")
		p.DaemonPlaces = []socket.Place{{Directory: p.DaemonDirectory, Owner: uint32(os.Geteuid())}}
		p.ProbeDirectories = probe.Directories(os.Geteuid(), runtime)[:1]
	}
	if directory := os.Getenv("VRAMSCOPE_TEST_ROOTS_DAEMON"); directory != "" {
		p.DaemonPlaces = []socket.Place{{Directory: directory, Owner: 0}}
	}
	return run(p, os.Args[1:])
}

// TestScripts runs testdata/script: whole command lines, with their output and exit code. Scripts
// in it that say [!driver] skip need a C compiler and cgo.
func TestScripts(t *testing.T) {
	t.Parallel()
	library := ""
	if haveCgo() {
		if built, err := fakedriver.Compile(fakedriver.Current); err == nil {
			library = built
		}
	}
	dir, files := filepath.Join("testdata", "script"), []string(nil)
	if testing.Short() { // only commands with processes beside them
		for _, name := range []string{"attach", "driver", "flush", "hostile", "probe", "run", "snapshot"} {
			files = append(files, filepath.Join(dir, name+".txtar"))
		}
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Setup: func(env *testscript.Env) error {
			env.Setenv("LC_ALL", "C.UTF-8")
			env.Setenv("TZ", "UTC")
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "xdg"))
			env.Setenv("XDG_CONFIG_DIRS", filepath.Join(env.WorkDir, "etc"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state-home"))
			env.Setenv("LD_LIBRARY_PATH", filepath.Dir(library))
			env.Setenv("VRAMSCOPE_FAKE_STATE", filepath.Join(env.WorkDir, "state"))
			env.Setenv("TERM", "xterm-256color")
			env.Setenv("XDG_RUNTIME_DIR", filepath.Join(env.WorkDir, "run"))
			return os.Mkdir(filepath.Join(env.WorkDir, "run"), 0o700)
		},
		Condition: func(condition string) (bool, error) {
			if condition == "driver" {
				return library != "", nil
			}
			return condition == "cgo" && haveCgo(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"box":   writeBox,
			"code":  exitCodeOf,
			"ready": ready,
		},
	})
}

// writeBox is the script command "box": it writes the state file.
//
//	box GPUS PROCESSES    a healthy box
//	box mixed             MIG, a lost GPU, an idle holder
//	box init CODE         no GPU, and nvmlInit answers CODE
//	box hidden            per-process memory is not reported
//	box hanging           GPU 1 does not answer
func writeBox(ts *testscript.TestScript, neg bool, args []string) {
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		ts.Check(err)
		return n
	}
	var state fakedriver.State
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: box GPUS PROCESSES | mixed | init CODE | hidden | hanging")
	case args[0] == "mixed":
		state = fakedriver.Mixed()
	case args[0] == "init":
		state = fakedriver.Box(0, 0)
		state.Driver.Init = fakedriver.Return(number(1))
	case args[0] == "hidden":
		state = fakedriver.Box(1, 2)
		state.GPUs[0].HideProcessMemory = true
	case args[0] == "hanging":
		state = fakedriver.Box(2, 1)
		state.GPUs[1].Hang("nvmlDeviceGetMemoryInfo*", time.Hour)
	default:
		state = fakedriver.Box(number(0), number(1))
	}
	ts.Check(state.Write(ts.Getenv("VRAMSCOPE_FAKE_STATE")))
}

// exitCodeOf is the script command "code N CMD ARG…": it runs CMD, whose exit code must be N.
func exitCodeOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N CMD ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func haveCgo() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "CGO_ENABLED" && s.Value == "1" })
}
