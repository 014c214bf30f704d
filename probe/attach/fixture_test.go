//go:build linux

package attach

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/needs"
	"vramscope/internal/process"
)

// fixture is a /proc with one process, 500 of user 1000, and its root directory.
type fixture struct {
	*testing.T
	proc, root string
	status     map[string]string
	filters    int // of seccomp, in this program
	maps       string
	gdb        string
}

const (
	fixturePID   = 500
	fixtureStart = 50000
	fixtureUser  = 1000
)

func (f *fixture) write(content string, path ...string) {
	f.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) link(target string, path ...string) {
	f.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		f.Fatal(err)
	}
	_ = os.Remove(name) // it may be there
	if err := os.Symlink(target, name); err != nil {
		f.Fatal(err)
	}
}

// of returns a path below the process's directory in /proc.
func (f *fixture) of(names ...string) string {
	return filepath.Join(append([]string{f.proc, "500"}, names...)...)
}

// compiled builds a library that exports functions and, if it is not 0,
// Py_Version.
func (f *fixture) compiled(path string, version uint32, functions ...string) {
	f.Helper()
	compiler := needs.Tool(f, "cc")
	var code strings.Builder
	for _, name := range functions {
		fmt.Fprintf(&code, "int %s(void) { return %d; }\n", name, len(name))
	}
	if version != 0 {
		fmt.Fprintf(&code, "const unsigned long Py_Version = %#x;\n", version)
	}
	// No function may be at the end of the file.
	code.WriteString(`__asm__(".text\n.globl padding\npadding: .space 64");`)
	source := filepath.Join(f.TempDir(), "library.c")
	f.write(code.String(), source)
	f.write("", f.root, path)
	out, err := exec.Command(compiler, "-shared", "-fPIC", "-nostdlib", "-o", filepath.Join(f.root, path), source).CombinedOutput()
	if err != nil {
		f.Fatalf("%v: %s", err, out)
	}
}

// mapped adds a file to the memory map, at a new base.
func (f *fixture) mapped(path string) {
	f.Helper()
	base := 0x7f0000000000 + uint64(strings.Count(f.maps, "\n"))<<24
	file, err := elf.Open(filepath.Join(f.root, path))
	if err != nil {
		f.maps += fmt.Sprintf("%x-%x r-xp 00000000 fe:01 1   %s\n", base, base+pageSize, path)
		return
	}
	defer func() { _ = file.Close() }() // only read
	for _, segment := range file.Progs {
		if segment.Type != elf.PT_LOAD {
			continue
		}
		start := base + segment.Vaddr&^(pageSize-1)
		end := (base + segment.Vaddr + segment.Memsz + pageSize - 1) &^ (pageSize - 1)
		mode := "r--p"
		if segment.Flags&elf.PF_X != 0 {
			mode = "r-xp"
		}
		f.maps += fmt.Sprintf("%x-%x %s %08x fe:01 1234    %s\n", start, end, mode, segment.Off&^(pageSize-1), path)
	}
}

// runs sets the process's program and command line.
func (f *fixture) runs(path string, command ...string) {
	f.link(path, f.of("exe"))
	f.write(strings.Join(command, "\x00")+"\x00", f.of("cmdline"))
	f.mapped(path)
}

// everything are the functions of a usable Python.
var everything = append([]string{"Py_BytesMain", "main"}, pythonNames[:]...)

// newFixture returns a Python 3.11.9 that gdb can attach to.
func newFixture(t *testing.T) *fixture {
	f := bareFixture(t)
	f.compiled("/opt/python3.11", 0x030b09f0, everything...)
	f.runs("/opt/python3.11", "/opt/python3.11", "-u", "/home/bob/eval.py", "--suite", "mmlu")
	f.compiled("/lib/libc.so.6", 0, libraryNames[:]...)
	f.mapped("/lib/libc.so.6")
	return f
}

// bareFixture returns a process without a program.
func bareFixture(t *testing.T) *fixture {
	f := &fixture{T: t, proc: filepath.Join(t.TempDir(), "proc"), root: filepath.Join(t.TempDir(), "root")}
	f.status = map[string]string{
		"State": "S (sleeping)", "TracerPid": "0", "Uid": "1000\t1000\t1000\t1000",
		"CapEff": "0000000000000000", "SigBlk": "0000000000000000", "SigCgt": "0000000000000002",
	}
	f.write("btime 0\n", f.proc, "stat")
	f.write("0\n", f.proc, "sys/kernel/yama/ptrace_scope")
	f.write(fmt.Sprintf("500 (python3) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 0", fixtureStart), f.of("stat"))
	for _, who := range []string{"500", "self"} {
		for _, namespace := range []string{"mnt", "pid", "user"} {
			f.link(namespace+":[1]", f.proc, who, "ns", namespace)
		}
		f.link(f.root, f.proc, who, "root")
	}
	f.write("", f.root, "empty")
	f.gdb = filepath.Join(t.TempDir(), "gdb")
	f.write("#!/bin/sh\necho 'GNU gdb (Debian 14.2-1) 14.2'\n", f.gdb)
	return f
}

// attacher writes the status and the memory map, and returns an Attacher.
func (f *fixture) attacher() *Attacher {
	f.Helper()
	for _, who := range []string{"500", "self"} {
		var text strings.Builder
		for key, value := range f.status {
			if own := map[string]string{
				"Uid": "1000\t1000\t1000\t1000", "TracerPid": "0", "State": "R (running)", "Seccomp_filters": strconv.Itoa(f.filters),
			}; who == "self" && own[key] != "" {
				value = own[key]
			}
			fmt.Fprintf(&text, "%s:\t%s\n", key, value)
		}
		f.write("Name:\tpython3\n"+text.String(), f.proc, who, "status")
		f.write("Name:\tpython3\n"+text.String(), f.proc, who, "task", who, "status")
	}
	f.write(f.maps, f.of("maps"))
	table := process.NewTable(f.proc)
	table.Timeout = time.Minute
	// The program is below the fixture's root, and "exe" leads there.
	if link, err := os.Readlink(f.of("exe")); err == nil && !strings.HasPrefix(link, f.root) && strings.HasPrefix(link, "/opt") {
		f.link(filepath.Join(f.root, link), f.of("exe"))
		f.write(strings.ReplaceAll(f.maps, " "+link+"\n", " "+filepath.Join(f.root, link)+"\n"), f.of("maps"))
	}
	a := New(table, nil)
	a.proc, a.gdb = f.proc, f.gdb
	a.uid, a.answerTime, a.cgroups = fixtureUser, waitTime, filepath.Join(f.root, "cgroup")
	return a
}

// examined returns the plan for the fixture's process.
func (f *fixture) examined() Plan {
	f.Helper()
	return f.attacher().Examine(f.Context(), process.Identity{PID: fixturePID, StartTime: fixtureStart})
}

// asAttacher makes this test binary attach to the process that it names.
const asAttacher = "VRAMSCOPE_TEST_ATTACH_TO"

func TestMain(m *testing.M) {
	if pid, err := strconv.Atoi(os.Getenv(asAttacher)); err == nil {
		table := process.NewTable("/proc")
		id, err := table.Identify(pid)
		if err == nil {
			_, err = examineAndEnter(context.Background(), testAttacher(), id)
		}
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestProcessContinuesAfterVramscopeIsKilled: gdb detaches by itself.
func TestProcessContinuesAfterVramscopeIsKilled(t *testing.T) {
	t.Parallel()
	for _, python := range needGdb(t) {
		for _, name := range []string{"churn", "threads", "forks", "sleeping", "reading", "loop"} {
			until(t, "vramscope to be killed while gdb stops "+name, func() bool { return killAttacher(t, runTarget(t, python, name)) })
		}
		return
	}
}

// killAttacher reports whether it killed the attacher while gdb stopped the process:
// on a loaded machine attaching may finish first.
func killAttacher(t *testing.T, p *target) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	scratch := t.TempDir()
	cmd.Env = append(os.Environ(), asAttacher+"="+strconv.Itoa(p.pid()), "TMPDIR="+scratch)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed or finished
		close(ended)
	}()
	finished := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	held := func() bool {
		state, err := readStatus(t.Context(), "/proc", strconv.Itoa(p.pid()))
		return err == nil && state.tracer != 0
	}
	caught := false
	until(t, "gdb to hold it", func() bool { caught = held(); return caught || finished() })
	_ = cmd.Process.Kill() // it may have finished
	<-ended
	until(t, "gdb to detach", func() bool { return !held() })
	p.mustBeWell()
	p.mustEndWell()
	return caught
}
