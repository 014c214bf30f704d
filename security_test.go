package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promise matches a test that a document names: `package: TestName`, or a Python test.
var promise = regexp.MustCompile("`([a-z/]+|\\.): ((?:Test|Fuzz|test_)[A-Za-z0-9_]+)`")

// TestPromisesHaveTests: each test that a document names exists, and each line of
// the tables of SECURITY.md names one.
func TestPromisesHaveTests(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range append(documents, "README.md", "SECURITY.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(text)) {
			named := promise.FindAllStringSubmatch(line, -1)
			for _, found := range named {
				if !hasTest(t, found[1], found[2]) {
					t.Errorf("%s: %s has no %s", document, found[1], found[2])
				}
			}
			if document != "SECURITY.md" || !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| test |\n") {
				continue
			}
			if rows++; len(named) == 0 {
				t.Errorf("%s: no test in %q", document, line)
			}
		}
		if document == "SECURITY.md" && rows == 0 {
			t.Errorf("%s has no table", document)
		}
	}
}

// hasTest reports whether a folder's tests have a function.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	pattern, start := filepath.Join(folder, "*_test.go"), "\nfunc "+name+"("
	if strings.HasPrefix(name, "test_") {
		pattern, start = filepath.Join(folder, "*.py"), "def "+name+"("
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(path string) bool {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(content), start)
	})
}

// networks are the packages that may use HTTP, TLS or the Internet's sockets. They connect to or listen
// at addresses that the user has given, ask the inference servers of this box, read TLS settings, or ask
// the kubelet's Unix socket.
var networks = []string{"vramscope/exporter", "vramscope/fleet", "vramscope/internal/kubelet", "vramscope/internal/promconfig", "vramscope/server"}

// TestNoNetwork: no other package of the program, and no probe, uses HTTP, TLS or the Internet's sockets.
func TestNoNetwork(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Imports}}", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var linked []string
	for line := range strings.Lines(string(out)) {
		name, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(name, "vramscope") || slices.Contains(networks, name) {
			continue
		}
		linked = append(linked, name)
		for imported := range strings.FieldsSeq(strings.Trim(imports, "[]")) {
			if imported == "net/http" || imported == "crypto/tls" || strings.HasPrefix(imported, "golang.org/x/net") {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
	network := regexp.MustCompile(`\bnet\.(Dial|Listen|Lookup|Resolve)\w*\("?(tcp|udp|ip)|AF_INET`)
	folders := append(linked, "vramscope/probe/agent/source", "vramscope/probe/preload/shim")
	for _, folder := range folders {
		below := strings.TrimPrefix(folder, "vramscope")
		files, err := filepath.Glob("." + below + "/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			content, err := os.ReadFile(path)
			source := slices.Contains([]string{".go", ".c", ".h", ".py"}, filepath.Ext(path))
			if err == nil && source && !strings.HasSuffix(path, "_test.go") && network.Match(content) {
				t.Errorf("%s: %s", path, network.Find(content))
			}
		}
	}
}
