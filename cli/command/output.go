package command

import (
	"errors"
	"fmt"

	"vramscope/internal/text"
	"vramscope/schema"
)

// Print writes to standard output. A closed pipe ends the program by SIGPIPE.
func (p *Program) Print(text []byte) error {
	if p.NoStdout {
		return errors.New("standard output is closed: nothing was written")
	}
	if _, err := p.Stdout.Write(text); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

// PrintAs writes a result as a JSON document or as text.
func (p *Program) PrintAs(format string, document any, text string) error {
	if format != "json" {
		return p.Print([]byte(text))
	}
	encoded, err := schema.Encode(document)
	if err != nil {
		return err
	}
	return p.Print(encoded)
}

// Write implements io.Writer. The error is kept, too: cobra ignores it.
func (p *Program) Write(text []byte) (int, error) {
	if p.Unwritten == nil {
		p.Unwritten = p.Print(text)
	}
	if p.Unwritten != nil {
		return 0, p.Unwritten
	}
	return len(text), nil
}

// Warn writes a line to standard error. The command is started with and without a reader.
func (p *Program) Warn(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Stderr, "vramscope: %s\n", text.Clean(fmt.Sprintf(format, args...)))
}
