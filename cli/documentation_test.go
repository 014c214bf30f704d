package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/internal/fakedriver"
	"vramscope/metric"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// TestDocumentationNamesEveryField: docs/json.md names every field of a snapshot's and a flush's JSON, and of CSV.
func TestDocumentationNamesEveryField(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(content)
	for _, field := range fieldsOf(reflect.TypeFor[schema.FlushDocument](), fieldsOf(reflect.TypeFor[schema.Document](), nil)) {
		field, _, _ = strings.Cut(field, ",omitempty")
		if !strings.Contains(doc, "`"+field+"`") {
			t.Errorf("docs/json.md does not document %q", field)
		}
	}
	_, list, _ := strings.Cut(doc, "    time, host, simulated,")
	list, _, _ = strings.Cut("time, host, simulated,"+list, "\n\n")
	for id := metric.Fan; id < metric.Count; id++ {
		list += ", gpu_" + metric.Table[id].Name
	}
	list += ", memory_utilization_percent, encoder_utilization_percent, decoder_utilization_percent"
	documented := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	titles, _, _ := strings.Cut(render.CSV(snapshottest.OneSample()), "\n")
	written := strings.Split(titles, ",")
	if !reflect.DeepEqual(documented, written) {
		t.Errorf("CSV fields as documented\n%v\nas written\n%v", documented, written)
	}
}

func TestHeadroomDocumentationNamesEveryField(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "docs", "headroom.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fieldsOf(reflect.TypeFor[schema.HeadroomDocument](), nil) {
		if !strings.Contains(string(content), "`"+field+"`") {
			t.Errorf("docs/headroom.md does not document %q", field)
		}
	}
}

// fieldsOf lists the JSON names in a type and in the types within it.
func fieldsOf(in reflect.Type, names []string) []string {
	switch in.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fieldsOf(in.Elem(), names)
	case reflect.Struct:
		for i := range in.NumField() {
			if in.Field(i).Anonymous {
				names = fieldsOf(in.Field(i).Type, names)
			}
			name := in.Field(i).Tag.Get("json")
			if name == "" {
				continue // the inside of an optional value or a time
			}
			names = fieldsOf(in.Field(i).Type, append(names, name))
		}
	}
	return names
}

// notRun has the beginnings of the README's command lines that TestCommandsOfTheREADME does not run, and why.
var notRun = map[string]string{
	"tar ": "of a download", "sudo ": "installs", "pip ": "installs", "pipx ": "installs", "uvx ": "downloads",
	"docker ": "downloads", "podman ": "downloads", "kubectl ": "needs a cluster", "pytest ": "needs a program of the reader's", "python": "needs the installed wheel",
	"go run . --demo":            "builds the program; TestScripts has --demo",
	"go test ./...":              "is this",
	"vramscope attach PID":       "needs a process of the reader's: testdata/script/attach.txtar",
	"vramscope flush PID":        "needs a process of the reader's: testdata/script/flush.txtar",
	"vramscope holds PID":        "needs a process of the reader's: testdata/script/holds.txtar",
	"vramscope summary":          "needs a process of the reader's: TestRecordedLines",
	"vramscope what-if PID":      "needs a process of the reader's: memoryviz/whatif",
	"vramscope record":           "needs a process of the reader's: TestRecordedLines",
	"vramscope snapshot":         "needs a process of the reader's: testdata/script/snapshot.txtar",
	"vramscope demo rescue":      "takes 13 s: TestDemoRescue has it without the waiting",
	"vramscope demo lease":       "takes 13 s: TestDemoLease has it without the waiting",
	"vramscope demo fleet":       "TestDemoFleet has it",
	"vramscope probe":            "runs until it is ended: testdata/script/probe.txtar",
	"vramscope once --watch 60s": "takes a minute: testdata/script has shorter ones",
	"vramscope fleet --prom":     "needs a Prometheus: TestAFleetInARealPrometheus",
	"vramscope replay --event":   "needs a recording with an out-of-memory error: ui/replay_test.go",
	"vramscope once --at":        "needs a recording of that time: moment_test.go",
	"vramscope why":              "needs a recording with an out-of-memory error: why_test.go",
	"vramscope daemon --serve":   "runs until it is ended: TestDaemonExports",
	"vramscope backtest":         "needs a recording of the reader's: testdata/script",
}

// TestCommandsOfTheREADME parses the vramscope command lines of the README, and runs the lines that
// notRun does not have, on the fake driver and in a folder with the programs that the lines name.
func TestCommandsOfTheREADME(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bin", "home"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(folder, "home")
	write("bin/vramscope", "#!/bin/sh\nexec env "+asVramscope+"=1 "+os.Args[0]+" \"$@\"\n")
	write("train.py", "print('trained')\n")
	write("simulation", "#!/bin/sh\necho simulated\n")
	environment := append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "LC_ALL=C.UTF-8", "XDG_RUNTIME_DIR="+home,
		"XDG_CONFIG_HOME="+home, "XDG_CONFIG_DIRS="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "VRAMSCOPE_FAKE_STATE="+filepath.Join(folder, "state"))
	library, err := fakedriver.Compile(fakedriver.Current)
	runs := haveCgo() && err == nil
	if runs {
		environment = append(environment, "LD_LIBRARY_PATH="+filepath.Dir(library))
		if err := fakedriver.Box(2, 2).Write(filepath.Join(folder, "state")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("jq"); err != nil {
		write("bin/jq", "#!/bin/sh\nexec grep '\"index\"'\n")
	}
	lines := 0
	for block := range strings.SplitSeq(string(content), "```sh\n") {
		block, _, isCode := strings.Cut(block, "\n```")
		if !isCode || lines == 0 && !strings.Contains(block, " # ") {
			continue // text before the first block
		}
		for line := range strings.SplitSeq(block, "\n") {
			line, _, _ = strings.Cut(line, "  #")
			line = strings.TrimSpace(strings.Replace(line, "[FILE|DIR]", "", 1))
			if line == "" {
				continue
			}
			lines++
			if _, command, is := strings.Cut(line, "vramscope "); is && !strings.HasSuffix(line, ".deb") {
				parses(t, command)
			}
			listed := ""
			for beginning := range notRun {
				if strings.HasPrefix(line, beginning) {
					listed = beginning
				}
			}
			if listed != "" || !runs {
				continue
			}
			t.Run(line, func(t *testing.T) {
				records := strings.HasPrefix(line, "vramscope daemon")
				if !records { // the other lines run after it, and have a recording
					t.Parallel()
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, "timeout", "-s", "INT", "20", "bash", "-o", "pipefail", "-ec", line)
				if records { // the daemon runs until timeout ends it
					cmd.Args[3] = "2"
				}
				cmd.Dir, cmd.Env = folder, environment
				out, err := cmd.CombinedOutput()
				switch code := cmd.ProcessState.ExitCode(); {
				case err == nil, code == command.ExitRefused && strings.Contains(line, "headroom"), code == 124 && records:
				default:
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
	if lines < 30 {
		t.Errorf("%d command lines", lines)
	}
}

// parses checks that a command line, without vramscope in front, is valid: command, flags,
// arguments.
func parses(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " | ")
	line = strings.Trim(line, `"()`)
	p := &command.Program{Getenv: os.Getenv, Now: time.Now}
	root := root(p)
	if strings.HasPrefix(line, "-m") || strings.HasPrefix(line, "probe-") {
		t.Fatalf("not vramscope's command line: %s", line)
	}
	found, arguments, err := root.Find(strings.Fields(line))
	if err == nil {
		err = found.ParseFlags(arguments)
	}
	if err == nil {
		err = found.ValidateArgs(found.Flags().Args())
	}
	if err != nil {
		t.Errorf("vramscope %s: %v", line, err)
	}
}
