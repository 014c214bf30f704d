package standin

import (
	"bytes"
	"debug/elf"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

const longestName = 128

var (
	initials = [][]byte{[]byte("\x00cu"), []byte("\x00nccl"), []byte("\x00nv")}
	rest     = regexp.MustCompile(`^[A-Z]\w*$`)
	// byPrefix holds the libraries that programs open, by the prefix of their functions' names.
	byPrefix = func() map[string][]string {
		found := map[string][]string{}
		for _, family := range families {
			if len(family.opened) > 0 {
				found[family.prefix] = family.opened
			}
		}
		return found
	}()
)

// readNames adds the functions that a library looks up by name. XLA (JAX,
// TensorFlow) is not linked to NVIDIA's libraries: it opens them and looks up
// each name of a table.
func readNames(file *elf.File, symbols []elf.ImportedSymbol, wanted libraries) error {
	isLookup := func(symbol elf.ImportedSymbol) bool { return symbol.Name == "dlsym" }
	section := file.Section(".rodata")
	if section == nil || section.Type == elf.SHT_NOBITS || !slices.ContainsFunc(symbols, isLookup) {
		return nil
	}
	text, err := section.Data()
	if err != nil {
		return fmt.Errorf("read-only data: %w", err)
	}
	addName(text, wanted) // the first text has no zero byte before it
	for _, initial := range initials {
		for left := text; ; {
			at := bytes.Index(left, initial)
			if at < 0 {
				break
			}
			left = left[at+1:]
			addName(left, wanted)
		}
	}
	return nil
}

// addName adds the zero-terminated name that text begins with, if it is the name of a function.
func addName(text []byte, wanted libraries) {
	found, _, ended := bytes.Cut(text[:min(len(text), longestName)], []byte{0})
	if !ended {
		return
	}
	name := string(found)
	prefix := longest(name, maps.Keys(byPrefix))
	if prefix == "" || !rest.MatchString(name[len(prefix):]) {
		return
	}
	for _, library := range byPrefix[prefix] {
		wanted.add(library, name)
	}
}
