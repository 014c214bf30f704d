package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"vramscope/internal/needs"
)

// file returns an ELF file with a loader, a library, and a dynamic symbol table of n symbols, all
// with the name at the start of names.
func file(n int, names string) []byte {
	const headers, segments, sections = 64, 3, 4
	machine := elf.EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = elf.EM_AARCH64
	}
	loader := "/lib64/ld-linux-x86-64.so.2\x00"
	symbols := make([]elf.Sym64, n+1)
	for i := range n {
		symbols[i+1] = elf.Sym64{Name: 1, Info: byte(elf.STT_FUNC), Shndx: 1, Value: uint64(0x1000 + i)}
	}
	dynamic := []elf.Dyn64{{Tag: int64(elf.DT_NEEDED), Val: 1}, {}}
	at := uint64(headers + segments*56 + sections*64)
	place := func(v any) (offset, size uint64) {
		offset, size = at, uint64(binary.Size(v))
		at += size
		return offset, size
	}
	text := []byte("\x00" + names + "\x00")
	loaderAt, loaderSize := place([]byte(loader))
	symbolsAt, symbolsSize := place(symbols)
	textAt, textSize := place(text)
	dynamicAt, dynamicSize := place(dynamic)
	header := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1, Phoff: headers, Phentsize: 56, Phnum: segments, Shoff: headers + segments*56, Shentsize: 64, Shnum: sections, Ehsize: headers}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	var b bytes.Buffer
	for _, part := range []any{
		header,
		[]elf.Prog64{
			{Type: uint32(elf.PT_INTERP), Off: loaderAt, Filesz: loaderSize},
			{Type: uint32(elf.PT_LOAD), Vaddr: 0x400000, Filesz: at},
			{Type: uint32(elf.PT_DYNAMIC), Off: dynamicAt, Filesz: dynamicSize},
		},
		[]elf.Section64{
			{},
			{Type: uint32(elf.SHT_DYNSYM), Off: symbolsAt, Size: symbolsSize, Link: 2},
			{Type: uint32(elf.SHT_STRTAB), Off: textAt, Size: textSize},
			{Type: uint32(elf.SHT_DYNAMIC), Off: dynamicAt, Size: dynamicSize, Link: 2},
		},
		[]byte(loader), symbols, text, dynamic,
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// counted counts the bytes that are read from a file that seems never to end.
type counted struct {
	content []byte
	read    int
}

func (c *counted) ReadAt(p []byte, offset int64) (int, error) {
	if c.read += len(p); c.read > 1<<32 {
		return 0, errors.New("too much is read")
	}
	clear(p)
	if offset < int64(len(c.content)) {
		copy(p, c.content[offset:])
	}
	return len(p), nil
}

// plain returns what debug/elf reads from a file, or false if it cannot read the file.
func plain(content []byte, wanted []string) (found map[string]Symbol, needed []string, progs []*elf.Prog, ok bool) {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, nil, nil, false
	}
	found = make(map[string]Symbol)
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, nil, nil, false
	}
	for _, s := range symbols {
		kind := elf.ST_TYPE(s.Info)
		if slices.Contains(wanted, s.Name) && s.Section != elf.SHN_UNDEF && (kind == elf.STT_FUNC || kind == elf.STT_OBJECT) {
			found[s.Name] = Symbol{s.Value, kind == elf.STT_OBJECT}
		}
	}
	needed, err = f.ImportedLibraries()
	return found, needed, f.Progs, err == nil
}

// FuzzELF compares the results with those of debug/elf if both accept a file, and At with the
// content of the file.
func FuzzELF(f *testing.F) {
	small := file(3, "mmap")
	f.Add(small, uint64(0x400000))
	f.Add(small[:len(small)-20], uint64(0x400010))
	for _, at := range []int{32, 40, 56, 60, 64 + 56*3 + 64 + 24, 64 + 56*3 + 64 + 32, 64 + 56 + 32, 64 + 56 + 8} {
		hostile := bytes.Clone(small)
		binary.LittleEndian.PutUint64(hostile[at:], 1<<63-8)
		f.Add(hostile, ^uint64(0))
	}
	wanted := []string{"mmap", "map", "ap", "Py_Version"}
	f.Fuzz(func(t *testing.T, content []byte, address uint64) {
		ours, err := parse(bytes.NewReader(content))
		if err != nil || !ours.Native() || content[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
			return
		}
		symbols, symbolsErr := ours.Symbols(wanted...)
		libraries, neededErr := ours.Needed()
		_ = ours.Interpreter()
		if bytes, err := ours.At(address, 16); err == nil {
			in := slices.ContainsFunc(ours.Segments, func(s elf.Prog64) bool {
				from := s.Off + (address - s.Vaddr)
				return from <= uint64(len(content)) && uint64(len(content))-from >= 16 && string(content[from:from+16]) == string(bytes)
			})
			if !in {
				t.Errorf("%#x is %x, which is nowhere in the file", address, bytes)
			}
		}
		if symbolsErr != nil || neededErr != nil || len(content) > maxName {
			return // for a longer file debug/elf could take too much memory
		}
		found, needed, progs, ok := plain(content, wanted)
		if !ok {
			return
		}
		if !maps.Equal(symbols, found) {
			t.Errorf("symbols %v, debug/elf has %v", symbols, found)
		}
		if len(libraries) > len(needed) || !slices.Equal(libraries, needed[:len(libraries)]) {
			t.Errorf("libraries %q, debug/elf has %q", libraries, needed)
		}
		if len(progs) != len(ours.Segments) {
			t.Fatalf("%d segments, debug/elf has %d", len(ours.Segments), len(progs))
		}
		for i, s := range ours.Segments {
			if p := progs[i]; p.Off != s.Off || p.Vaddr != s.Vaddr || p.Filesz != s.Filesz || p.Type != elf.ProgType(s.Type) {
				t.Errorf("segment %d is %+v, debug/elf has %+v", i, s, p)
			}
		}
	})
}

// TestHostileSizes: neither a huge table nor names that overlap make the reader allocate or read
// without limit.
func TestHostileSizes(t *testing.T) {
	const symbols, name = 20000, 1 << 20
	many := file(symbols, string(bytes.Repeat([]byte("x"), name)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := parse(bytes.NewReader(many))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := f.Symbols("mmap", "x"); err != nil || len(found) > 0 {
		t.Errorf("found %v, %v", found, err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8*uint64(len(many)) {
		t.Errorf("%d bytes allocated for a file of %d", took, len(many))
	}
	small := file(1, "mmap")
	for at := 0; at+8 <= len(small); at += 8 {
		for _, value := range []uint64{1 << 31, 1 << 40, 1<<63 - 1, 1<<64 - 1} {
			hostile := counted{content: bytes.Clone(small)}
			binary.LittleEndian.PutUint64(hostile.content[at:], value)
			began := time.Now()
			if f, err := parse(&hostile); err == nil && f.Native() {
				_, _ = f.Symbols("mmap") // an error or not
				_, _ = f.Needed()
				_, _ = f.At(0x400000, 16)
				f.Interpreter()
			}
			if hostile.read > 6*maxTable || time.Since(began) > time.Minute {
				t.Errorf("%#x at %d: %d bytes read in %v", value, at, hostile.read, time.Since(began))
			}
		}
	}
}

// TestOwnProgram reads this test's own file and the C library.
func TestOwnProgram(t *testing.T) {
	paths, err := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"mmap", "pthread_create", "environ", "stdout", "none"}
	for _, path := range append(paths, "/proc/self/exe") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.Symbols(wanted...)
		needed, failed := f.Needed()
		if err := errors.Join(err, failed, f.Close()); err != nil {
			t.Fatal(err)
		}
		found, libraries, _, ok := plain(content, wanted)
		if !ok || !maps.Equal(symbols, found) || !slices.Equal(needed, libraries) {
			t.Errorf("%s: %v %q, debug/elf has %v %q", path, symbols, needed, found, libraries)
		}
	}
}

// TestOtherFiles: a file that is not ELF is an error at once.
func TestOtherFiles(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if out, err := exec.Command(needs.Tool(t, "mkfifo"), fifo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, path := range []string{fifo, t.TempDir(), "/dev/null", "/dev/zero", "/proc/self/maps"} {
		if f, err := Open(path); !errors.Is(err, ErrNotELF) {
			t.Errorf("%s: %v, %v", path, f, err)
		}
	}
	if _, err := parse(io.NewSectionReader(&counted{}, 0, 5)); !errors.Is(err, ErrNotELF) {
		t.Error(err)
	}
}
