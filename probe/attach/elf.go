package attach

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"vramscope/internal/elffile"
)

// program is an ELF file mapped into a process, with the addresses of its symbols there.
type program struct {
	path    string                    // in the process's own mount namespace
	symbols map[string]elffile.Symbol // at their addresses in the process
	text    []mapping                 // its code
	bias    uint64                    // address in the process − address in the file
	file    *elffile.File
}

var (
	errOtherFile      = errors.New("it is not the mapped file")
	errOtherProcessor = errors.New("it is for another processor")
)

// openProgram reads the symbols that a mapped file exports. The process calls the file path;
// vramscope opens it as at.
func openProgram(at, path string, maps []mapping) (*program, error) {
	file, err := elffile.Open(at)
	if err != nil {
		return nil, err
	}
	p := &program{path: path, file: file, symbols: make(map[string]elffile.Symbol)}
	if err := p.read(maps); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return p, nil
}

func (p *program) close() error { return p.file.Close() }

func (p *program) read(maps []mapping) error {
	if !p.file.Native() {
		return errOtherProcessor
	}
	placed := false
	for _, m := range maps {
		if m.path != p.path {
			continue
		}
		if m.code {
			p.text = append(p.text, m)
		}
		if placed {
			continue
		}
		// A segment is mapped from the start of its first page.
		for i := range p.file.Segments {
			segment := &p.file.Segments[i]
			in := segment.Vaddr - segment.Off // the same for all bytes of a segment
			if elf.ProgType(segment.Type) == elf.PT_LOAD && segment.Off&^(pageSize-1) == m.offset && segment.Filesz > 0 {
				p.bias, placed = m.start-m.offset-in, true
				break
			}
		}
	}
	if !placed || len(p.text) == 0 {
		return errOtherFile
	}
	symbols, err := p.file.Symbols(symbolNames...)
	if err != nil {
		return err
	}
	for name, s := range symbols {
		s.Value += p.bias
		p.symbols[name] = s
	}
	return nil
}

// pageSize is the smallest page: mappings are multiples of it.
const pageSize = 4096

// function returns a function's address, 0 if the file does not export it.
func (p *program) function(name string) uint64 {
	if s := p.symbols[name]; !s.Data {
		return s.Value
	}
	return 0
}

func (p *program) has(name string) bool { return p.symbols[name].Value != 0 }

// bytesAt returns the file's bytes for an address in the process.
func (p *program) bytesAt(address uint64, n int) ([]byte, error) {
	content, err := p.file.At(address-p.bias, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	return content, nil
}

// number returns the initial value of an eight-byte variable, as the file has it.
func (p *program) number(name string) (uint64, bool) {
	s := p.symbols[name]
	if !s.Data || s.Value == 0 {
		return 0, false
	}
	content, err := p.bytesAt(s.Value, 8)
	if err != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(content), true
}
