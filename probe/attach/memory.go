package attach

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// readMemory reads a process's memory.
func readMemory(dir string, address uint64, n int) ([]byte, error) {
	file, err := os.Open(filepath.Join(dir, "mem"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	content := make([]byte, n)
	if _, err := file.ReadAt(content, int64(address)); err != nil {
		return nil, err
	}
	return content, nil
}

// verify checks that the functions in the process are those of the files that
// their addresses come from.
func (p *python) verify(dir string) error {
	for name, f := range p.functions {
		there, err := readMemory(dir, f.address, len(f.head))
		if err != nil {
			return fmt.Errorf("its memory cannot be read: %w", err)
		}
		if !bytes.Equal(there, f.head) {
			return fmt.Errorf("its %s differs from the file: the file was replaced, or the process patched", name)
		}
	}
	return nil
}
