package forecast

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostLines limits the lines of code of the forecaster (without blank lines, comments, tests and
// forecast/backtest), and mostNumbers its numbers, named or not.
const mostLines, mostNumbers = 930, 50

// Numbers that were not chosen: 0, 1 and 2, units, and the ends of 80 % and 95 % intervals.
var given = []string{"0", "0.0", "1", "2", "1e9", "60e9", "0.10", "0.90", "0.025", "0.975"}

func TestSizeOfForecaster(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?m)^[ \t]*[^ \t\n/].*$|^[ \t]*/[^/].*$`)
	lines, numbers := 0, []string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += len(code.FindAll(text, -1))
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.BasicLit); ok && (v.Kind == token.INT || v.Kind == token.FLOAT) && !slices.Contains(given, v.Value) {
				numbers = append(numbers, v.Value+" "+set.Position(v.Pos()).String())
			}
			return true
		})
	}
	t.Logf("%d lines of code, %d numbers", lines, len(numbers))
	if lines > mostLines || len(numbers) > mostNumbers {
		t.Errorf("%d lines of code, at most %d; %d numbers, at most %d:\n%s",
			lines, mostLines, len(numbers), mostNumbers, strings.Join(numbers, "\n"))
	}
}
