package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/internal/text"
)

// TestHelpFitsATerminal: the help of each top command fits 80 columns, except its example commands,
// which users copy.
func TestHelpFitsATerminal(t *testing.T) {
	p := &command.Program{Getenv: os.Getenv, Now: time.Now}
	root := root(p)
	for _, command := range append(root.Commands(), root) {
		if command.Short == "" {
			t.Errorf("%s says nothing of itself in the list of commands", command.Name())
		}
		for line := range strings.SplitSeq(command.Long, "\n") {
			if text.Width(line) > 80 && !strings.HasPrefix(line, "  ") {
				t.Errorf("help of %s is %d cells wide: %s", command.Name(), text.Width(line), line)
			}
		}
		for line := range strings.SplitSeq(command.UsageString(), "\n") {
			if text.Width(line) > 80 && !strings.Contains(command.Example, line) {
				t.Errorf("usage of %s is %d cells wide: %s", command.Name(), text.Width(line), line)
			}
			if strings.Contains(line, "(default [])") || strings.Contains(line, "(default 0s)") {
				t.Errorf("usage of %s shows an empty default: %s", command.Name(), line)
			}
		}
	}
}
