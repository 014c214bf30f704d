package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// canAsk reports whether a question can be read and answered.
func (p *program) canAsk() bool { return isTerminal(p.stdin) && isTerminal(p.stderr) }

// cannotAsk is the failure of a command that has to ask without a terminal; dry
// is what its --dry-run does.
func cannotAsk(command string, pid int, dry string) *failure {
	return &failure{code: exitUsage, message: "there is no terminal to ask on", advice: []string{
		fmt.Sprintf("  vramscope %s %d --dry-run   %s", command, pid, dry),
		fmt.Sprintf("  vramscope %s %d --yes       does it without asking", command, pid),
	}}
}

// confirm asks, and fails unless the answer is y or yes.
func (p *program) confirm(question string) error {
	if _, err := io.WriteString(p.stderr, question+" [y/N] "); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	answer, err := bufio.NewReader(p.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	default:
		return refused(nil, "you did not say yes; nothing was done")
	}
}
