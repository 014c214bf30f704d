package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/quantity"
	"vramscope/schema"
)

// usersPlace is a directory in which several users work, with this test binary as vramscope and as
// liar.
type usersPlace struct {
	*testing.T
	dir, library string
}

const aliceID, bobID = 12345, 12346

func newUsersPlace(t *testing.T) *usersPlace {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	if !haveCgo() {
		t.Skip("no cgo: no driver can be read")
	}
	library, err := fakedriver.Compile(fakedriver.Current)
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "vs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	u := &usersPlace{t, dir, filepath.Join(dir, "lib")}
	copied := func(from, to string) {
		content, err := os.ReadFile(from)
		if err = errors.Join(err, writeProgram(to, content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(u.library, 0o755)); err != nil {
		t.Fatal(err)
	}
	libraries, err := filepath.Glob(filepath.Join(filepath.Dir(library), "*.so*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range libraries {
		copied(path, filepath.Join(u.library, filepath.Base(path)))
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied(executable, filepath.Join(dir, "vramscope"))
	if err := os.Link(filepath.Join(dir, "vramscope"), filepath.Join(dir, "liar")); err != nil {
		t.Fatal(err)
	}
	for name, uid := range map[string]int{"root": 0, "alice": aliceID, "bob": bobID} {
		home := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, bobID, bobID); err != nil { // his process writes the fake driver's state
		t.Fatal(err)
	}
	return u
}

// as returns a command that runs a program as one of the users.
func (u *usersPlace) as(name string, uid int, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(u.dir, program), args...)
	home := filepath.Join(u.dir, name)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "WORK=" + home,
		"LD_LIBRARY_PATH=" + u.library, "VRAMSCOPE_FAKE_STATE=" + filepath.Join(u.dir, "state"), "LC_ALL=C.UTF-8",
		"VRAMSCOPE_TEST_ROOTS_DAEMON=" + filepath.Join(u.dir, "root", "vramscope"),
	}
	if program == "vramscope" {
		cmd.Env = append(cmd.Env, asVramscope+"=1")
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	return cmd
}

func (u *usersPlace) start(cmd *exec.Cmd) {
	u.Helper()
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		u.Fatal(err)
	}
	u.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // how is not of interest
	})
}

// once returns what a user sees.
func (u *usersPlace) once(name string, uid int) (doc schema.Document, text string) {
	u.Helper()
	out, err := u.as(name, uid, "vramscope", "once", "--format", "json").Output()
	if err == nil {
		err = json.Unmarshal(out, &doc)
	}
	if err != nil {
		u.Fatalf("%v\n%s", err, out)
	}
	return doc, string(out)
}

// TestAliceSeesThatBobsMemoryIsCached: alice may not ask bob's process, but root's daemon may. She
// sees the numbers, and that they come from the daemon.
func TestAliceSeesThatBobsMemoryIsCached(t *testing.T) {
	t.Parallel()
	u := newUsersPlace(t)
	report := `{"runtimes":[{"name":"PyTorch","version":"2.8.0"}],"capabilities":["flush"],"evictable":[{"name":"bobs-cache"}],
		"allocators":[{"kind":"pytorch","basis":"stranded","reserved_bytes":12884901888,"allocated_bytes":1073741824,"cached_bytes":11811160064,"fragmented_bytes":0,"returnable_bytes":11811160064,"config":"bobs-config"}]}`
	file := filepath.Join(u.dir, "report.json")
	if err := os.WriteFile(file, []byte(report), 0o644); err != nil {
		t.Fatal(err)
	}
	bob := u.as("bob", bobID, "liar", file)
	u.start(bob)
	if !eventually(func() bool { _, err := os.Stat(filepath.Join(u.dir, "bob", "pid")); return err == nil }) {
		t.Fatal("bob's process does not start")
	}

	doc, _ := u.once("alice", aliceID)
	if p := doc.GPUs[0].Processes[0]; p.PID != bob.Process.Pid || p.CachedBytes.Known() || p.Probe != nil {
		t.Fatalf("without a daemon alice sees %+v", p)
	}

	config := filepath.Join(u.dir, "root", "vramscope", "config.toml")
	if err := errors.Join(os.Mkdir(filepath.Dir(config), 0o755), os.Chmod(filepath.Join(u.dir, "root"), 0o711),
		os.WriteFile(config, []byte("[daemon]\nshare = 'all'\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	daemon := u.as("root", 0, "vramscope", "daemon")
	u.start(daemon)
	cached := func() bool {
		doc, _ = u.once("alice", aliceID)
		return doc.GPUs[0].Processes[0].CachedBytes.Known()
	}
	if !eventually(cached) {
		t.Fatal("alice does not see bob's cache")
	}
	doc, text := u.once("alice", aliceID)
	p := doc.GPUs[0].Processes[0]
	if p.CachedBytes.Or(0) != 11*quantity.GiB || p.Probe.Source != "daemon" || len(p.Probe.Capabilities) > 0 {
		t.Errorf("alice sees cached %v, probe %+v", p.CachedBytes, p.Probe)
	}
	if strings.Contains(text, "bobs-") {
		t.Errorf("alice reads what is bob's:\n%s", text)
	}
	table, err := u.as("alice", aliceID, "vramscope", "once").Output()
	if want := "note   the parts of 1 process are by root's daemon"; err != nil || !strings.Contains(string(table), want) {
		t.Errorf("the table does not say %q: %v\n%s", want, err, table)
	}
	found, err := u.as("alice", aliceID, "vramscope", "doctor").Output()
	if want := "root's answers: PID " + strconv.Itoa(daemon.Process.Pid); err != nil || !strings.Contains(string(found), want) {
		t.Errorf("doctor does not say %q: %v\n%s", want, err, found)
	}
	// She still cannot act on the process.
	if out, err := u.as("alice", aliceID, "vramscope", "flush", "--yes", strconv.Itoa(bob.Process.Pid)).CombinedOutput(); err == nil || !strings.Contains(string(out), "refused") {
		t.Errorf("alice flushes bob's process: %v, %s", err, out)
	}

	// When the memory is no longer shared, alice no longer sees it.
	if err := errors.Join(os.WriteFile(config, nil, 0o600), daemon.Process.Signal(syscall.SIGHUP)); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { return !cached() }) {
		t.Error("alice sees it after share = none")
	}
}
