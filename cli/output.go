package cli

import (
	"errors"
	"fmt"

	"vramscope/cli/config"
	"vramscope/cli/render"
	"vramscope/internal/text"
	"vramscope/schema"
)

// print writes to standard output. A closed pipe ends the program by SIGPIPE.
func (p *program) print(text []byte) error {
	if p.noStdout {
		return errors.New("standard output is closed: nothing was written")
	}
	if _, err := p.stdout.Write(text); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

// printAs writes a result as a JSON document or as text.
func (p *program) printAs(format string, document any, text string) error {
	if format != "json" {
		return p.print([]byte(text))
	}
	encoded, err := schema.Encode(document)
	if err != nil {
		return err
	}
	return p.print(encoded)
}

// output is cobra's standard output. It keeps the error, which cobra ignores.
type output struct {
	print func([]byte) error
	err   error
}

func (o *output) Write(text []byte) (int, error) {
	if o.err == nil {
		o.err = o.print(text)
	}
	return len(text), nil
}

// writer is print as an io.Writer.
type writer func([]byte) error

func (w writer) Write(text []byte) (int, error) {
	if err := w(text); err != nil {
		return 0, err
	}
	return len(text), nil
}

// signs are those that the output can show.
func (p *program) signs(s *config.Settings) render.Signs {
	return render.SignsFor(s.ASCII || !text.UTF8(p.getenv))
}
