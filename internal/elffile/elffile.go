// Package elffile reads an ELF file: its segments, the symbols that it exports, and the libraries
// that it needs.
//
//	Open → File ── Segments, Interpreter
//	         └──── Symbols, Needed
//
// The file may be hostile. debug/elf is not made for that: it copies the name of
// every section and symbol, so that a file of a megabyte can take terabytes.
package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
)

// Limits far above the sizes in real programs.
const (
	maxSegments = 1 << 10
	maxSections = 1 << 16
	maxTable    = 64 << 20 // bytes of the symbols, and of their names
	maxName     = 4 << 10
)

// Errors of a file that cannot be read.
var (
	ErrNotELF     = errors.New("not an ELF file")
	errTooLarge   = errors.New("malformed ELF file: a table is too large")
	errHeaderSize = errors.New("malformed ELF file: its headers have another size")
	errNoNames    = errors.New("malformed ELF file: a table has no names")
	errCompressed = errors.New("malformed ELF file: a table that is loaded is compressed")
	errCut        = errors.New("malformed ELF file: it ends too early")
)

// File is an open ELF file. If it is for another processor, only Machine and Class are read.
type File struct {
	Machine  elf.Machine
	Class    elf.Class
	Segments []elf.Prog64

	sections []elf.Section64
	content  io.ReaderAt
	closer   io.Closer
}

// Open opens a file and reads its headers. It does not wait for a FIFO's writer.
func Open(path string) (*File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f, err := parse(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	f.closer = file
	return f, nil
}

func (f *File) Close() error { return f.closer.Close() }

// Native reports whether the file is for this processor.
func (f *File) Native() bool {
	machine := elf.EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = elf.EM_AARCH64
	}
	return f.Class == elf.ELFCLASS64 && f.Machine == machine
}

func parse(content io.ReaderAt) (*File, error) {
	f := &File{content: content}
	head, err := f.bytes(0, 20, maxTable)
	if err != nil || string(head[:4]) != elf.ELFMAG {
		return nil, ErrNotELF
	}
	f.Class = elf.Class(head[elf.EI_CLASS])
	switch elf.Data(head[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		f.Machine = elf.Machine(binary.LittleEndian.Uint16(head[18:]))
	case elf.ELFDATA2MSB:
		f.Machine = elf.Machine(binary.BigEndian.Uint16(head[18:]))
	default:
		return nil, ErrNotELF
	}
	if f.Class != elf.ELFCLASS32 && f.Class != elf.ELFCLASS64 {
		return nil, ErrNotELF
	}
	if !f.Native() {
		return f, nil
	}
	header, err := table[elf.Header64](f, 0, 1, 1)
	if err != nil {
		return nil, err
	}
	h := header[0]
	if h.Phnum > 0 && int(h.Phentsize) != binary.Size(elf.Prog64{}) || h.Shnum > 0 && int(h.Shentsize) != binary.Size(elf.Section64{}) {
		return nil, errHeaderSize
	}
	if f.Segments, err = table[elf.Prog64](f, h.Phoff, uint64(h.Phnum), maxSegments); err != nil {
		return nil, err
	}
	f.sections, err = table[elf.Section64](f, h.Shoff, uint64(h.Shnum), maxSections)
	return f, err
}

// bytes reads n bytes at an offset of the file, all of them or none. It allocates memory for the
// bytes that the file has, not for n.
func (f *File) bytes(offset, n uint64, limit int) ([]byte, error) {
	if n > uint64(limit) || offset > 1<<62 {
		return nil, errTooLarge
	}
	content, err := bounded.First(io.NewSectionReader(f.content, int64(offset), int64(n)), int(n))
	if err != nil {
		return nil, fmt.Errorf("read an ELF file: %w", err)
	}
	if uint64(len(content)) < n {
		return nil, errCut
	}
	return content, nil
}

func table[T any](f *File, offset, n uint64, limit int) ([]T, error) {
	if n > uint64(limit) {
		return nil, errTooLarge
	}
	var entry T
	content, err := f.bytes(offset, n*uint64(binary.Size(entry)), maxTable)
	if err != nil {
		return nil, err
	}
	entries := make([]T, n)
	if _, err := binary.Decode(content, binary.LittleEndian, entries); err != nil {
		return nil, err
	}
	return entries, nil
}

// At reads n bytes at an address of the program.
func (f *File) At(address uint64, n int) ([]byte, error) {
	for i := range f.Segments {
		s := &f.Segments[i]
		if elf.ProgType(s.Type) != elf.PT_LOAD || address < s.Vaddr || uint64(n) > s.Filesz || address-s.Vaddr > s.Filesz-uint64(n) {
			continue
		}
		return f.bytes(s.Off+address-s.Vaddr, uint64(n), maxTable)
	}
	return nil, fmt.Errorf("%#x is not in the file", address)
}

// Interpreter returns the path of a program's loader, "" if it has none or cannot be read.
func (f *File) Interpreter() string {
	for i := range f.Segments {
		if s := &f.Segments[i]; elf.ProgType(s.Type) == elf.PT_INTERP {
			name, err := f.bytes(s.Off, s.Filesz, maxName)
			if err != nil {
				return ""
			}
			return string(bytes.TrimRight(name, "\x00"))
		}
	}
	return ""
}

// section reads the first section of a type, and the names to which it refers. If there is no such
// section, both are empty.
func (f *File) section(kind elf.SectionType) (content, names []byte, err error) {
	for i := range f.sections {
		s := &f.sections[i]
		if elf.SectionType(s.Type) != kind {
			continue
		}
		if s.Link == 0 || int(s.Link) >= len(f.sections) {
			return nil, nil, errNoNames
		}
		text := &f.sections[s.Link]
		if elf.SectionFlag(s.Flags|text.Flags)&elf.SHF_COMPRESSED != 0 {
			return nil, nil, errCompressed
		}
		content, err = f.bytes(s.Off, s.Size, maxTable)
		if err == nil {
			names, err = f.bytes(text.Off, text.Size, maxTable)
		}
		return content, names, err
	}
	return nil, nil, nil
}

type Symbol struct {
	Value uint64 // its address
	Data  bool   // a variable, not a function
}

// Symbols returns the wanted symbols (functions and variables) that the file exports. Of two with the
// same name, it returns the last.
func (f *File) Symbols(wanted ...string) (map[string]Symbol, error) {
	content, names, err := f.section(elf.SHT_DYNSYM)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Symbol)
	content = content[min(elf.Sym64Size, len(content)):] // the first symbol is empty
	for ; len(content) >= elf.Sym64Size; content = content[elf.Sym64Size:] {
		at, kind := uint64(binary.LittleEndian.Uint32(content)), elf.ST_TYPE(content[4])
		section := elf.SectionIndex(binary.LittleEndian.Uint16(content[6:]))
		if section == elf.SHN_UNDEF || kind != elf.STT_FUNC && kind != elf.STT_OBJECT || at >= uint64(len(names)) {
			continue
		}
		for _, name := range wanted {
			if rest := names[at:]; len(rest) > len(name) && rest[len(name)] == 0 && string(rest[:len(name)]) == name {
				found[name] = Symbol{binary.LittleEndian.Uint64(content[8:]), kind == elf.STT_OBJECT}
			}
		}
	}
	return found, nil
}

// Needed returns the libraries that the file needs, at most a few thousand.
func (f *File) Needed() ([]string, error) {
	content, names, err := f.section(elf.SHT_DYNAMIC)
	if err != nil {
		return nil, err
	}
	var libraries []string
	const entry, limit = 16, 4096
	for ; len(content) >= entry && len(libraries) < limit; content = content[entry:] {
		tag, at := elf.DynTag(binary.LittleEndian.Uint64(content)), binary.LittleEndian.Uint64(content[8:])
		if tag == elf.DT_NULL {
			break
		}
		if tag != elf.DT_NEEDED || at >= uint64(len(names)) {
			continue
		}
		name := names[at:min(at+maxName, uint64(len(names)))]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			libraries = append(libraries, string(name[:end]))
		}
	}
	return libraries, nil
}
