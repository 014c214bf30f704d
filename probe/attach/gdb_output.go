package attach

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// complaint is gdb's reason for a failure: the kernel's error, or its last line.
func complaint(output string) string {
	last := "gdb gives no reason"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "(gdb)", ""))
		if strings.HasPrefix(line, "ptrace: ") {
			return firstLines(line)
		}
		if line != "" {
			last = line
		}
	}
	return firstLines(last)
}

// They are compiled where they are needed: every command starts with this package.
var (
	foundThread   = pattern(`(?m)^(?:\(gdb\) )*Thread (\d+) has target id '(?:process |LWP |.*\(LWP )(\d+)\)?'`)
	mappedPage    = pattern(`page (0x[0-9a-f]+)\b`)
	startedThread = pattern(`started (0|[1-9][0-9]*)\b`)
	pythonRuns    = pattern(`runs (0|[1-9][0-9]*)\b`)
)

func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// numberAfter is the number that gdb has printed after a word, decimal or with 0x.
func numberAfter(word *regexp.Regexp, output string) (uint64, bool) {
	match := word.FindStringSubmatch(output)
	if match == nil {
		return 0, false
	}
	n, err := strconv.ParseUint(match[1], 0, 63)
	return n, err == nil
}

// numberOf is gdb's own number for a thread, from its list of all threads.
func numberOf(chosen thread, output string) string {
	for _, match := range foundThread().FindAllStringSubmatch(output, -1) {
		if match[2] == strconv.Itoa(chosen.id) {
			return match[1]
		}
	}
	return ""
}
