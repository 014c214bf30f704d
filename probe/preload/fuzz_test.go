//go:build linux && cgo && !race

// These tests of C code take long; CI needs them in one of its passes only.

package preload_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// TestFuzzServer runs each target of libFuzzer briefly under sanitizers. To run one for longer:
//
//	clang -g -O2 -I shim -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all testdata/fuzz_requests.c shim/answer.c shim/json.c shim/text.c
//	./a.out -detect_leaks=0 -dict=testdata/fuzz.dict CORPUS
func TestFuzzServer(t *testing.T) {
	t.Parallel()
	clang := needs.Tool(t, "clang")
	for name, sources := range map[string][]string{
		"requests":   {"testdata/fuzz_requests.c", "shim/answer.c", "shim/json.c", "shim/text.c"},
		"connection": {"testdata/fuzz_connection.c", "shim/connection.c", "shim/text.c", "-Wl,--wrap=recvmsg,--wrap=send,--wrap=close"},
		"proc":       {"testdata/fuzz_proc.c"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			corpus := filepath.Join(directory, "corpus")
			if err := os.Mkdir(corpus, 0o700); err != nil {
				t.Fatal(err)
			}
			for i, seed := range seeds(t, name) {
				if err := os.WriteFile(filepath.Join(corpus, fmt.Sprint(i)), []byte(seed), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*timeout)
			defer cancel()
			program := filepath.Join(directory, "fuzz")
			flags := []string{"-std=gnu11", "-g", "-O2", "-I", "shim", "-Wall", "-Wextra", "-Werror",
				"-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all", "-o", program}
			if out, err := exec.CommandContext(ctx, clang, append(flags, sources...)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			cmd := exec.CommandContext(ctx, program, "-runs=20000", "-max_len=400", "-detect_leaks=0", "-dict=testdata/fuzz.dict",
				"-artifact_prefix="+directory+"/", corpus)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Done 20000 runs") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// seeds returns a target's first inputs.
func seeds(t *testing.T, target string) []string {
	t.Helper()
	if target == "proc" {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		stat, err := os.ReadFile("/proc/self/stat")
		if err != nil {
			t.Fatal(err)
		}
		return []string{"\x00" + string(status), "\x0e123-45678.sock" + string(stat)}
	}
	var all []string
	for _, line := range conformanceLines(t) {
		switch {
		case target == "requests":
			all = append(all, "\x03"+line)
		case len(line) < 255:
			all = append(all, "\x00"+string([]byte{byte(len(line))})+line+"\x01\x01\n")
		}
	}
	return append(all, "\x00\x05abc\nx\x05\xffL\x00\x03\n{}")
}

// conformanceLines returns the requests in the vectors.
func conformanceLines(t *testing.T) []string {
	t.Helper()
	var lines []string
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case string:
			lines = append(lines, value)
		case []any:
			for _, v := range value {
				walk(v)
			}
		case map[string]any:
			for key, v := range value {
				if !slices.Contains([]string{"name", "about", "expect"}, key) {
					walk(v)
				}
			}
		}
	}
	for _, path := range sources(t, "../testdata/conformance/*.json") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var vectors any
		if err := json.Unmarshal(content, &vectors); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		walk(vectors)
	}
	slices.Sort(lines)
	return lines
}
