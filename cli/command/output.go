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

// Output is cobra's standard output. It keeps the error, which cobra ignores.
type Output struct {
	Print func([]byte) error
	Err   error
}

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	if o.Err == nil {
		o.Err = o.Print(text)
	}
	return len(text), nil
}

// Writer is print as an io.Writer.
type Writer func([]byte) error

// Write implements io.Writer.
func (w Writer) Write(text []byte) (int, error) {
	if err := w(text); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Warn writes a line to standard error. The command is started with and without a reader.
func (p *Program) Warn(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Stderr, "vramscope: %s\n", text.Clean(fmt.Sprintf(format, args...)))
}
