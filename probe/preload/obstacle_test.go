//go:build linux

package preload_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/probe/preload"
)

const nothingSource = "int main(void) { return 0; }\n"

// compiled builds a one-line program; if the compiler cannot, the test is skipped.
func compiled(t *testing.T, source string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path+".c", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler(), append([]string{path + ".c", "-o", path}, flags...)...).CombinedOutput(); err != nil {
		needs.Missing(t, "the compiler cannot: %v\n%s", err, out)
	}
	return path
}

func TestObstacle(t *testing.T) {
	workshop(t)
	for _, c := range []struct {
		name  string
		flags []string
		want  string
	}{
		{"an ordinary program", nil, ""},
		{"not PIE", []string{"-no-pie"}, ""},
		{"static", []string{"-static"}, "statically linked"},
		{"static PIE", []string{"-static-pie"}, "statically linked"},
		{"AddressSanitizer", []string{"-fsanitize=address"}, "AddressSanitizer"},
		{"ThreadSanitizer", []string{"-fsanitize=thread"}, "ThreadSanitizer"},
		{"musl", []string{"-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"}, "musl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := preload.Obstacle(compiled(t, nothingSource, c.flags...))
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestObstacleOfOtherFiles(t *testing.T) {
	workshop(t)
	directory := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, content, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var foreign bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_S390), Version: 1, Ehsize: 64, Phentsize: 56, Shentsize: 64}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	if err := binary.Write(&foreign, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		write("script", []byte("#!/bin/sh\necho\n")):            "",
		write("empty", nil):                                     "",
		write("cut", []byte("\x7fELF\x02\x01\x01")):             "",
		write("foreign", foreign.Bytes()):                       "another processor (S390)",
		filepath.Join(directory, "none"):                        "",
		directory:                                               "",
		write("noise", bytes.Repeat([]byte("\x7fELF\xff"), 99)): "",
	} {
		if got := preload.Obstacle(path); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", filepath.Base(path), got, want)
		}
	}
	if os.Geteuid() == 0 {
		path := compiled(t, nothingSource)
		for mode, want := range map[os.FileMode]string{os.ModeSetuid: "setuid", os.ModeSetgid: "setgid"} {
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode|0o755); err != nil {
				t.Fatal(err)
			}
			if got := preload.Obstacle(path); !strings.Contains(got, want) {
				t.Errorf("mode %v: got %q", mode, got)
			}
		}
		// Setuid to the same user: the loader preloads.
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, os.ModeSetuid|0o755); err != nil {
			t.Fatal(err)
		}
		if got := preload.Obstacle(path) + preload.Setuid(path); got != "" {
			t.Errorf("root's setuid program started by root: %q", got)
		}
	}
}

// TestSanitizedChild starts a sanitized program from a shell, with the environment
// of vramscope run. The sanitizer must still work.
func TestSanitizedChild(t *testing.T) {
	w := workshop(t)
	for source, want := range map[string]int{
		nothingSource: 0,
		"#include <stdlib.h>\nint main(int n, char **a) { char *p = malloc(3); p[3 + (n > 9)] = *a[0]; return p[0] == 1; }\n": 1,
	} {
		path := compiled(t, source, "-fsanitize=address", "-g")
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", path+"; exit $?")
		cmd.Env = append(slices.Clone(os.Environ()), "LD_PRELOAD="+w.library, "ASAN_OPTIONS=verify_asan_link_order=0")
		out, _ := cmd.CombinedOutput() // the exit code is checked
		if code := cmd.ProcessState.ExitCode(); code != want || (want == 1) != strings.Contains(string(out), "heap-buffer-overflow") {
			t.Errorf("exit code %d, want %d: %s", code, want, out)
		}
	}
}
