package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitectureShowsEveryImport checks the drawing in docs/architecture.md against the code:
// every package, by layers, with all our packages that it imports. UPDATE_GOLDEN=1 (make golden)
// draws it again.
func TestArchitectureShowsEveryImport(t *testing.T) {
	const path, begin, end = "docs/architecture.md", "<!-- imports -->\n```\n", "```\n<!-- /imports -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	drawn, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no drawing between its marks", path)
	}
	want := drawImports(packageImports(t))
	if drawn == want {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("the drawing in %s differs from the code: make golden\n%s", path, want)
	}
	if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestNoFolderIsTooLarge: a newcomer does not find a file among more files than this, tests aside.
func TestNoFolderIsTooLarge(t *testing.T) {
	const limit = 35
	files := map[string]int{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files[filepath.Dir(path)]++
		}
		return err
	})
	if err != nil || len(files) < 50 {
		t.Fatalf("%d folders, %v", len(files), err)
	}
	for folder, n := range files {
		if n > limit {
			t.Errorf("%s has %d files, more than %d", folder, n, limit)
		}
	}
}

// TestUncountedPackagesAreNotLinked: scripts/lines leaves out packages that only tests use.
func TestUncountedPackagesAreNotLinked(t *testing.T) {
	script, err := os.ReadFile("scripts/lines")
	if err != nil {
		t.Fatal(err)
	}
	_, rule, _ := strings.Cut(string(script), "grep -vE '")
	rule, _, _ = strings.Cut(rule, "'")
	uncounted, imports, linked := regexp.MustCompile(rule), packageImports(t), map[string]bool{}
	if !uncounted.MatchString("probe/probetest/match.go") || imports["probe/probetest"] == nil {
		t.Fatalf("scripts/lines has another rule: %s", rule)
	}
	var link func(name string)
	link = func(name string) {
		if !linked[name] {
			linked[name] = true
			for _, imported := range imports[name] {
				link(imported)
			}
		}
	}
	link("vramscope")
	if len(linked) < 30 {
		t.Fatalf("the program links %d packages", len(linked))
	}
	for name := range linked {
		if uncounted.MatchString(name + "/a.go") {
			t.Errorf("the program links %s, which scripts/lines does not count", name)
		}
	}
}

// packageImports returns the module's packages with the packages of the module that they import
// outside of tests.
func packageImports(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		name, ours := strings.TrimPrefix(fields[0], "vramscope/"), []string{}
		for _, imported := range fields[1:] {
			if rest, ok := strings.CutPrefix(imported, "vramscope/"); ok {
				ours = append(ours, rest)
			}
		}
		imports[name] = ours
	}
	return imports
}

// drawImports draws the packages by layers: each imports only packages of lower
// layers.
func drawImports(imports map[string][]string) string {
	layers := map[int][]string{}
	var layer func(name string) int
	layer = func(name string) int {
		highest := 0
		for _, below := range imports[name] {
			highest = max(highest, layer(below)+1)
		}
		return highest
	}
	for name := range imports {
		layers[layer(name)] = append(layers[layer(name)], name)
	}
	var b strings.Builder
	for i := len(layers) - 1; i >= 0; i-- {
		slices.Sort(layers[i])
		for _, name := range layers[i] {
			column := fmt.Sprintf("%-30s", name)
			for _, imported := range imports[name] {
				if len(column)+1+len(imported) > 120 {
					fmt.Fprintln(&b, column)
					column = strings.Repeat(" ", 30)
				}
				column += " " + imported
			}
			fmt.Fprintln(&b, strings.TrimRight(column, " "))
		}
		if i > 0 {
			fmt.Fprintln(&b)
		}
	}
	return b.String()
}
