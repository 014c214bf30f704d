package attach

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// version is a version of Python; micro is -1 if unknown.
type version struct{ major, minor, micro int }

func (v version) known() bool { return v.major > 0 }

func (v version) String() string {
	switch {
	case !v.known():
		return ""
	case v.micro < 0:
		return fmt.Sprintf("%d.%d", v.major, v.minor)
	}
	return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.micro)
}

// atLeast compares the first two numbers.
func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// versionOf is a program's version: from a variable since 3.11, from file names
// before.
// Source: https://docs.python.org/3/c-api/apiabiversion.html
func versionOf(p *program, executable string) version {
	if hex, ok := p.number("Py_Version"); ok && hex>>24 == 3 {
		return version{int(hex >> 24), int(hex >> 16 & 0xff), int(hex >> 8 & 0xff)}
	}
	for _, name := range []string{strings.TrimPrefix(base(p.path), "lib"), base(executable)} {
		if v, ok := versionInName(name); ok {
			return v
		}
	}
	return version{}
}

// versionInName reads "python3.9", "python3.9.so.1.0", "python3.13t".
func versionInName(name string) (version, bool) {
	rest, ok := strings.CutPrefix(name, "python")
	if !ok {
		return version{}, false
	}
	rest, _, _ = strings.Cut(rest, ".so")
	numbers, ok := numbersOf(strings.TrimRight(rest, "mdt"), 2)
	if !ok {
		return version{}, false
	}
	return version{numbers[0], numbers[1], -1}, true
}

// numbersOf reads n numbers with dots between them.
func numbersOf(text string, n int) ([]int, bool) {
	words := strings.Split(text, ".")
	if len(words) != n {
		return nil, false
	}
	numbers := make([]int, n)
	for i, word := range words {
		number, err := strconv.ParseUint(word, 10, 16)
		if err != nil {
			return nil, false
		}
		numbers[i] = int(number)
	}
	return numbers, true
}

// askVersion runs the program for its version: "Python 3.9.18".
func askVersion(ctx context.Context, program string) (version, bool) {
	out, err := output(ctx, procTimeout, cleanEnvironment(), program, "-V")
	if err != nil {
		return version{}, false
	}
	return parseVersion(out)
}

func parseVersion(text string) (version, bool) {
	rest, ok := strings.CutPrefix(text, "Python ")
	// A pre-release is "3.15.0a1+".
	if end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		rest = rest[:end]
	}
	numbers, whole := numbersOf(rest, 3)
	if !ok || !whole {
		return version{}, false
	}
	return version{numbers[0], numbers[1], numbers[2]}, true
}
