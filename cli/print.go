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
