package cli

import "fmt"

// print writes to standard output. A disk that is full or a descriptor that
// is closed is an error; a closed pipe ends the program as it ends any other
// in a pipe, by SIGPIPE.
func (p *program) print(text []byte) error {
	if _, err := p.stdout.Write(text); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

// output is standard output for cobra, which writes help and version there and
// has no way to hand an error on: it is kept here, for the exit code.
type output struct {
	print func([]byte) error
	err   error
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	if o.err == nil {
		o.err = o.print(text)
	}
	return len(text), nil
}
