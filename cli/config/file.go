package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adrg/xdg"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"vramscope/guard"
	"vramscope/internal/install"
	"vramscope/internal/process"
	"vramscope/internal/text"
)

// Name is the file's place below a configuration directory.
const Name = "vramscope/config.toml"

// Error is a configuration file that is refused: with the line, and what to do.
type Error struct {
	Message string
	Hints   []string // lines below the message
}

func (e *Error) Error() string { return e.Message }

// refuse makes an Error of a message that may have a key or a value of the file in it.
func refuse(format string, args ...any) *Error {
	return &Error{Message: text.Cut(fmt.Sprintf(format, args...), longestMessage, "…")}
}

const longestMessage = 1000

// Path is the file that is read where --config names none: the first one in
// $XDG_CONFIG_HOME and $XDG_CONFIG_DIRS or, without any, where it would be. Under
// sudo -E it is not another user's.
func Path() string {
	xdg.Reload() // the package reads the environment when the program starts, before a test can set it
	directories := xdg.ConfigDirs
	if own, err := install.Own(install.Bases(os.Getenv, "XDG_CONFIG_HOME", ".config")); err == nil {
		directories = append([]string{own}, directories...)
	}
	for _, directory := range directories {
		if _, err := os.Stat(filepath.Join(directory, Name)); err == nil {
			return filepath.Join(directory, Name)
		}
	}
	return filepath.Join(directories[0], Name)
}

// Load applies the configuration file. One that the user has named must be
// there; the default one need not.
func (s *Settings) Load(named string) error {
	path := named
	if path == "" {
		path = Path()
	}
	library, exec := s.Library, s.AlertCommand
	content, err := process.ReadLimited(path, fileSize+1)
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refuse("configuration file: %v", err)
	}
	if len(content) > fileSize {
		return refuse("configuration file: %s has more than 1 MiB: it is not one", path)
	}
	if err := s.parse(path, content); err != nil {
		return err
	}
	if s.Library != library { // code that this program loads
		if _, err := install.Trusted(path); err != nil {
			return refuse("nvml_library: %v", err)
		}
	}
	if !slices.Equal(s.AlertCommand, exec) { // a command that the daemon runs
		if _, err := install.Trusted(path); err != nil {
			return refuse("alerts.exec: %v", err)
		}
	}
	if lists := len(s.Guard.Rules) + len(s.Guard.Importance); lists > 0 && s.Guard.Mode != guard.Off || s.Guard.Mode == guard.Act {
		// What is done to processes, perhaps by --guard=act.
		if _, err := install.Trusted(path); err != nil {
			return refuse("guard: %v", err)
		}
	}
	return nil
}

// fileSize is the largest file that is parsed.
const fileSize = 1 << 20

// Parse applies a file's content. A key that is not known, and a value
// that cannot be, are refused with their line: nothing is silently ignored.
func (s *Settings) parse(path string, content []byte) error {
	var values map[string]any
	if err := toml.Unmarshal(content, &values); err != nil {
		line, message := 1, err.Error()
		var syntax *toml.DecodeError
		if errors.As(err, &syntax) {
			line, _ = syntax.Position()
		}
		return refuse("%s:%d: %s", path, line, strings.TrimPrefix(message, "toml: "))
	}
	parser, table := unstable.Parser{}, ""
	parser.Reset(content)
	lists := guardLists{lines: make(map[string]int)}
	for parser.NextExpression() {
		expression := parser.Expression()
		key, line := keyOf(&parser, expression)
		if expression.Kind != unstable.KeyValue {
			table = ""
		}
		key = table + key
		if lists.take(expression.Kind, key, line) {
			continue
		}
		header := expression.Kind == unstable.Table && isTable(key)
		if header {
			table = key + "."
			continue
		}
		if err := s.set(key, lookUp(values, key)); err != nil {
			if errors.Is(err, errNoKey) {
				if first, _, _ := strings.Cut(key, "."); !isTable(first) {
					key = first
				}
				return unknownKey(path, line, key)
			}
			return refuse("%s:%d: %s: %v", path, line, text.Clean(key), err)
		}
	}
	if wrong := s.setGuardLists(values["guard"]); wrong != nil {
		return refuse("%s:%d: %s", path, lists.line(wrong.path), wrong)
	}
	return nil
}

// keyOf is the key of an expression, its parts joined by dots, and its line.
func keyOf(parser *unstable.Parser, expression *unstable.Node) (string, int) {
	var parts []string
	line := 0
	for key := expression.Key(); key.Next(); {
		if line == 0 {
			line = parser.Shape(key.Node().Raw).Start.Line
		}
		parts = append(parts, string(key.Node().Data))
	}
	return strings.Join(parts, "."), line
}

// isTable reports whether options have keys in a table of that name.
func isTable(name string) bool {
	return slices.ContainsFunc(Options(), func(o Option) bool { return strings.HasPrefix(o.Key, name+".") })
}

// lookUp is the value of a dotted key; nil where there is none.
func lookUp(values map[string]any, key string) any {
	for {
		if value, ok := values[key]; ok {
			return value
		}
		first, rest, dotted := strings.Cut(key, ".")
		table, ok := values[first].(map[string]any)
		if !dotted || !ok {
			return nil
		}
		values, key = table, rest
	}
}

var errNoKey = errors.New("there is no such key")

func (s *Settings) set(key string, value any) error {
	options := Options()
	at := slices.IndexFunc(options, func(o Option) bool { return o.Key == key })
	if at < 0 && isTable(key) {
		return fmt.Errorf("it is a table: write [%s] on a line of its own, and its keys below", key)
	}
	if at < 0 {
		return errNoKey
	}
	o := &options[at]
	literal, err := o.value(value)
	if err == nil && literal != nil {
		err = o.Set(s)(*literal)
	}
	return err
}

func unknownKey(path string, line int, key string) error {
	var keys []string
	for _, o := range Options() {
		keys = append(keys, o.Key)
	}
	e := refuse("%s:%d: there is no key %q", path, line, text.Clean(key))
	if near := text.Nearest(key, keys); near != "" {
		e.Message += fmt.Sprintf("; did you mean %q?", near)
	}
	e.Hints = []string{"  vramscope config --print   lists every key"}
	return e
}

// value is a TOML value as text for the option's setter; nil leaves the option as it is.
func (o *Option) value(value any) (*string, error) {
	text, fits, err := "", false, error(nil)
	switch v := value.(type) {
	case string:
		text, fits = v, o.Kind == words || o.Kind == period
		if !fits {
			return nil, fmt.Errorf("want %s, not a text", o.Kind.wants())
		}
	case bool:
		text, fits = strconv.FormatBool(v), o.Kind == Truth
	case int64:
		text, fits = strconv.FormatInt(v, 10), o.Kind == number || o.Kind == period
	case float64:
		text, fits = strconv.FormatFloat(v, 'g', -1, 64), o.Kind == period
	case []any:
		fits = o.Kind == List || o.Kind == command
		if o.Kind == command {
			text, err = quotedWords(v)
			break
		}
		if fits && len(v) == 0 {
			return nil, nil
		}
		text, err = joined(v)
	}
	if !fits {
		return nil, fmt.Errorf("want %s", o.Kind.wants())
	}
	return &text, err
}

func joined(items []any) (string, error) {
	texts := make([]string, len(items))
	for i, item := range items {
		switch item := item.(type) {
		case string:
			texts[i] = item
		case int64:
			texts[i] = strconv.FormatInt(item, 10)
		default:
			return "", errors.New("want a list of numbers and texts")
		}
	}
	return strings.Join(texts, ","), nil
}

// quotedWords is a command as the JSON that its setter reads: a word may hold anything.
func quotedWords(items []any) (string, error) {
	words := make([]string, len(items))
	for i, item := range items {
		word, ok := item.(string)
		if !ok {
			return "", errors.New(command.notThis())
		}
		words[i] = word
	}
	quoted, err := json.Marshal(words)
	return string(quoted), err
}

func (k Kind) notThis() string { return "want " + k.wants() }

// wants says what a kind of option takes.
func (k Kind) wants() string {
	switch k {
	case period:
		return `a duration, like "1s", or a number of seconds`
	case Truth:
		return "true or false"
	case number:
		return "a whole number"
	case List:
		return "a list, like [0, 2]"
	case command:
		return `a list of texts, like ["mail", "-s", "GPU", "bob"]`
	default:
		return "a text in quotes"
	}
}
