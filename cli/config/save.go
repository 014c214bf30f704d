package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
	"golang.org/x/sys/unix"

	"vramscope/internal/install"
	"vramscope/internal/process"
	"vramscope/internal/text"
)

// Save applies change to the settings of a configuration file, and writes those of these keys that differ.
// All other bytes of the file stay. The file is replaced in one step, behind a symbolic link too, and
// keeps its mode. If no setting differs, Save returns an error.
func Save(path string, change func(*Settings), keys []string) error {
	target, content, err := current(path)
	if err != nil {
		return cannotWrite(path, err)
	}
	edited, err := edit(path, content, change, keys)
	switch {
	case err != nil:
		return err
	case bytes.Equal(edited, content):
		return errUnchanged
	}
	return cannotWrite(path, replace(target, edited))
}

var errUnchanged = errors.New("nothing to write: these settings are configured already")

// current returns the file that a path leads to, and its content; for a new file, a first line.
func current(path string) (target string, content []byte, err error) {
	target, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, broken := os.Lstat(path); broken == nil {
			return "", nil, errors.New("it is a link to a file that is not there")
		}
		return path, []byte("# vramscope config --print explains every key.\n"), nil
	}
	if err != nil {
		return "", nil, err
	}
	content, err = process.ReadLimited(target, fileSize+1)
	if err == nil && len(content) > fileSize {
		err = errors.New("it has more than 1 MiB")
	}
	return target, content, err
}

func cannotWrite(path string, err error) error {
	if err == nil {
		return nil
	}
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return fmt.Errorf("cannot write %s: %w", text.Clean(path), err)
}

// edit returns a file's content with the new values of keys.
func edit(path string, content []byte, change func(*Settings), keys []string) ([]byte, error) {
	now := Defaults()
	if err := now.parse(path, content); err != nil {
		return nil, err
	}
	want := now
	change(&want)
	before := Options(&now)
	for i, o := range Options(&want) {
		if slices.Contains(keys, o.Key) && o.Literal() != before[i].Literal() {
			content = withValue(content, o.Key, o.Literal())
		}
	}
	back := Defaults()
	if err := back.parse(path, content); err != nil || !reflect.DeepEqual(back, want) {
		return nil, errors.New("vramscope cannot edit " + text.Clean(path) + ": change it by hand")
	}
	return content, nil
}

// withValue returns a TOML file with a new value for a key that is in no table.
func withValue(content []byte, key, literal string) []byte {
	var parser unstable.Parser
	parser.Reset(content)
	last := 0 // the end of the last value before the first table
	for parser.NextExpression() {
		expression := parser.Expression()
		if expression.Kind != unstable.KeyValue {
			break
		}
		end := int(expression.Raw.Offset + expression.Raw.Length)
		if parts := expression.Key(); parts.Next() && parts.IsLast() && string(parts.Node().Data) == key {
			start := valueStart(content, expression)
			return slices.Concat(content[:start], []byte(literal), content[end:])
		}
		last = end
	}
	at, newline := headEnd(content), "\n"
	if bytes.Contains(content, []byte("\r\n")) {
		newline = "\r\n"
	}
	if last > 0 {
		at = lineEnd(content, last)
	}
	line := key + " = " + literal + newline
	if at > 0 && content[at-1] != '\n' {
		line = newline + line
	}
	return slices.Concat(content[:at], []byte(line), content[at:])
}

func valueStart(content []byte, expression *unstable.Node) int {
	at := int(expression.Raw.Offset)
	for key := expression.Key(); key.Next(); {
		raw := key.Node().Raw
		at = int(raw.Offset + raw.Length)
	}
	at += bytes.IndexByte(content[at:], '=') + 1
	for content[at] == ' ' || content[at] == '\t' {
		at++
	}
	return at
}

// lineEnd returns the index of the first byte of the next line.
func lineEnd(content []byte, from int) int {
	if i := bytes.IndexByte(content[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(content)
}

// headEnd returns the end of the comment at the head of a file, which stays above a new key. A
// comment right above a table belongs to the table.
func headEnd(content []byte) int {
	at, end := 0, 0
	for line := range strings.Lines(string(content)) {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "#"):
		case trimmed == "":
			end = at
		default:
			return end
		}
		at += len(line)
	}
	return at
}

// replace rewrites a file and keeps its mode and owner.
func replace(path string, content []byte) error {
	mode, owner, group := fs.FileMode(0o644), -1, -1
	file, err := os.OpenFile(path, os.O_WRONLY, 0) // checks that this user may write the file
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	case err == nil:
		var st unix.Stat_t
		err = errors.Join(unix.Fstat(int(file.Fd()), &st), file.Close())
		mode, owner, group = fs.FileMode(st.Mode).Perm(), int(st.Uid), int(st.Gid)
	}
	if err != nil {
		return err
	}
	return install.Replace(path, content, mode, func(draft *os.File) error {
		return errors.Join(draft.Chown(owner, group), draft.Sync())
	})
}
