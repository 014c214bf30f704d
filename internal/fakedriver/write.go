package fakedriver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/needs"
)

// Write replaces the state file at path atomically, so that programs may read it
// meanwhile.
func (s State) Write(path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".state-")
	if err != nil {
		return fmt.Errorf("fakedriver: write state: %w", err)
	}
	_, err = file.WriteString(s.String())
	err = errors.Join(err, file.Close())
	// A file system's clock ticks only every few milliseconds. The exact time
	// keeps two states from looking like the same file.
	if now := time.Now(); err == nil {
		err = os.Chtimes(file.Name(), now, now)
	}
	if err == nil {
		err = os.Chmod(file.Name(), 0o644) // a monitor of another user reads it too
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // best effort: the first error is the one that matters
		return fmt.Errorf("fakedriver: write state: %w", err)
	}
	return nil
}

// MustWrite does what Write does, for tests.
func (s State) MustWrite(tb needs.TB, path string) {
	tb.Helper()
	if err := s.Write(path); err != nil {
		tb.Fatalf("%v", err)
	}
}

// String returns the text of the state file.
func (s State) String() string {
	var b strings.Builder
	for _, f := range fields(s.Driver) {
		fmt.Fprintf(&b, "driver.%s %s\n", f.key, f.value)
	}
	writeFaults(&b, s.Faults)
	for i := range s.GPUs {
		s.GPUs[i].write(&b)
	}
	return b.String()
}

func (g *GPU) write(b *strings.Builder) {
	fmt.Fprintf(b, "gpu %s\n", escape(g.UUID))
	for _, f := range fields(*g) {
		fmt.Fprintf(b, "%s %s\n", f.key, f.value)
	}
	for _, p := range g.Processes {
		writePairs(b, "process "+p.Lists, p)
	}
	for _, i := range g.Instances {
		writePairs(b, "instance", i)
	}
	for _, x := range g.XIDs {
		writePairs(b, "xid", x)
	}
	writeFaults(b, g.Faults)
}

func writePairs(b *strings.Builder, word string, record any) {
	b.WriteString(word)
	for _, f := range fields(record) {
		fmt.Fprintf(b, " %s=%s", f.key, strings.ReplaceAll(f.value, " ", `\x20`))
	}
	b.WriteByte('\n')
}

func writeFaults(b *strings.Builder, faults Faults) {
	for _, f := range faults {
		fmt.Fprintf(b, "%s %s %d\n", f.Kind, f.Call, f.Value)
	}
}

type field struct{ key, value string }

// fields lists a record's entries in the state file: its tagged texts that are not
// empty and its tagged numbers that are not Absent.
func fields(record any) []field {
	var list []field
	value := reflect.ValueOf(record)
	for i := range value.NumField() {
		key := value.Type().Field(i).Tag.Get("state")
		if key == "" || key == "-" {
			continue
		}
		if text, ok := fieldText(value.Field(i)); ok {
			list = append(list, field{key, text})
		}
	}
	return list
}

func fieldText(value reflect.Value) (string, bool) {
	switch value.Kind() {
	case reflect.String:
		return escape(value.String()), value.Len() > 0
	case reflect.Bool:
		return "1", value.Bool()
	default:
		return strconv.FormatUint(value.Uint(), 10), value.Uint() != Absent
	}
}

// escape writes backslashes, and all bytes that are not printable ASCII, as \xNN.
func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\\' {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
