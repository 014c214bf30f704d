//go:build linux && cgo

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"vramscope/cli/launch"
)

// userWithoutName returns credentials of a user ID without a name: only the environment names a
// home directory.
func userWithoutName(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	const unknown = 54321
	attr := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: unknown, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: unknown, HostID: os.Getgid(), Size: 1}},
	}
	cmd := exec.Command("true")
	cmd.SysProcAttr = attr
	if err := cmd.Run(); err != nil {
		t.Skipf("no user namespace can be made here: %v", err)
	}
	return attr
}

// script runs a shell with vramscope as $0.
func script(environ []string, text string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", text, os.Args[0])
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"HOME", "XDG_CACHE_HOME", "PYTHONPATH", "LD_PRELOAD", "ASAN_OPTIONS", launch.SeccompFilters}, name)
	})
	cmd.Env = append(append(cmd.Env, asVramscope+"=1"), environ...)
	return cmd
}

// TestRunStartsTheCommandWithoutAProbe: run prints one line that says why.
func TestRunStartsTheCommandWithoutAProbe(t *testing.T) {
	t.Parallel()
	unknown := userWithoutName(t)
	long := strings.Repeat("x", 1<<17-len("PYTHONPATH=")-1) // the kernel's longest string
	for name, c := range map[string]struct {
		environ []string
		limit   string
		says    string
	}{
		"HOME is not set":             {nil, "", "HOME is not set"},
		"HOME is relative":            {[]string{"HOME=home"}, "", "HOME is not set"},
		"HOME takes no files":         {[]string{"HOME=/proc"}, "", "/proc/.cache"},
		"HOME is a file":              {[]string{"HOME=/etc/passwd"}, "", "/etc/passwd"},
		"no file can be written":      {[]string{"HOME=" + t.TempDir()}, "ulimit -f 0; ", "file too large"},
		"the environment is too long": {[]string{"HOME=" + t.TempDir(), "PYTHONPATH=" + long}, "", "no room"},
		"HOME can be written by all":  {[]string{"HOME=" + writableByAll(t)}, "", "can be written by others"},
	} {
		cmd := script(c.environ, c.limit+`exec "$0" run -- sh -c 'echo "${#PYTHONPATH} [$LD_PRELOAD]"; exit 7'`)
		cmd.SysProcAttr = unknown
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		want := "0 []\n"
		if strings.Contains(name, "long") {
			want = "131060 []\n"
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 || string(out) != want {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		if got := stderr.String(); !strings.HasPrefix(got, "vramscope: no probe: ") || strings.Count(got, "\n") != 1 || !strings.Contains(got, c.says) {
			t.Errorf("%s: it says %q", name, got)
		}
		// In a batch script a failure changes nothing, and the script continues.
		if c.limit == "" && !strings.Contains(name, "long") {
			cmd = script(c.environ, `set -e; eval "$("$0" env)"; echo "${#PYTHONPATH} [$LD_PRELOAD]"`)
			cmd.SysProcAttr = unknown
			if out, err = cmd.Output(); err != nil || string(out) != want {
				t.Errorf("%s: env leaves %q, %v", name, out, err)
			}
		}
	}
}

func writableByAll(t *testing.T) string {
	directory := t.TempDir()
	if err := os.Chmod(directory, 0o777); err != nil {
		t.Fatal(err)
	}
	return directory
}

// TestRunKeepsOutOfAnotherUsersDirectory: XDG_CACHE_HOME can be another user's, as under sudo -E.
func TestRunKeepsOutOfAnotherUsersDirectory(t *testing.T) {
	theirs, own := t.TempDir(), t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("only root can make another user's directory")
	}
	if err := os.Chown(theirs, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{`"$0" run --preload -- sh -c 'echo "$PYTHONPATH $LD_PRELOAD"'`, `eval "$("$0" env --preload)" && echo "$PYTHONPATH $LD_PRELOAD"`} {
		cmd := script([]string{"XDG_CACHE_HOME=" + theirs + "/new/cache", "HOME=" + own}, command)
		out, err := cmd.CombinedOutput()
		paths := strings.Fields(string(out))
		if err != nil || len(paths) != 2 || !strings.HasPrefix(paths[0], own+"/.cache/") || !strings.HasPrefix(paths[1], own+"/.cache/") {
			t.Errorf("%s: %q, %v", command, out, err)
		}
	}
	out, err := script([]string{"HOME=" + own}, `"$0" env --directory `+theirs+`/probe`).CombinedOutput()
	if err == nil || !strings.Contains(string(out), theirs+" belongs to another user") {
		t.Errorf("env --directory: %q, %v", out, err)
	}
	if left, err := os.ReadDir(theirs); err != nil || len(left) != 0 {
		t.Errorf("in the other user's directory there is %v, %v", left, err)
	}
}

// TestRunFailsAsAShellDoes where the command cannot be started.
func TestRunFailsAsAShellDoes(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "plain"), []byte("echo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]int{
		"plain": 126, "./plain": 126, directory: 126, "nosuch": 127, "./nosuch": 127, "''": 127,
	} {
		code := func(with string) int {
			cmd := script([]string{"HOME=" + t.TempDir(), "PATH=" + directory + ":" + os.Getenv("PATH")}, "exec "+with+command)
			cmd.Dir = directory
			err := cmd.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				return exit.ExitCode()
			}
			t.Errorf("%s%s: %v", with, command, err)
			return -1
		}
		if by, shell := code(`"$0" run -- `), code("env "); by != want || shell != want {
			t.Errorf("%s: %d, by env %d, want %d", command, by, shell, want)
		}
	}
}

// TestRunKeepsStandardDescriptorsClosed: Go's runtime would open /dev/null for them.
func TestRunKeepsStandardDescriptorsClosed(t *testing.T) {
	const look = `for n in 0 1 2; do test -e /proc/self/fd/$n && echo $n >&9; done`
	shell := func(command string) string {
		out, err := script([]string{"HOME=" + t.TempDir(), "LOOK=" + look}, command+` 9>&1 <&- >&- 2>&-`).Output()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			t.Fatal(err)
		}
		return string(out)
	}
	if plain, run := shell(`sh -c "$LOOK"`), shell(`"$0" run -- sh -c "$LOOK"`); plain != run {
		t.Errorf("without vramscope run %q are open, with it %q", plain, run)
	}
}

// TestDoctorNoticesAFullDisk: doctor says that there is no room for the audit log.
func TestDoctorNoticesAFullDisk(t *testing.T) {
	full := t.TempDir()
	cmd := script([]string{"HOME=" + full, "XDG_STATE_HOME=" + full, "FULL=" + full, "XDG_CONFIG_HOME=" + t.TempDir(), "LC_ALL=C.UTF-8"},
		`mount -t tmpfs -o size=64k none "$FULL" || exit 77; head -c 1000000 /dev/zero >"$FULL/file" 2>/dev/null; exec "$0" doctor`)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok && err != nil || ok && exit.ExitCode() == 77 {
		t.Skipf("no tmpfs can be mounted here: %v, %s", err, out)
	}
	if !regexp.MustCompile(`no  audit log +` + full + `[^\n]*no space left`).Match(out) {
		t.Errorf("it says\n%s", out)
	}
}
