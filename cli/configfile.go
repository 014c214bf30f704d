package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/adrg/xdg"
	"github.com/pelletier/go-toml/v2"

	"vramscope/internal/text"
)

// configName is the file's place below a configuration directory.
const configName = "vramscope/config.toml"

// configPath is the file that is read where --config names none: the first
// there is in $XDG_CONFIG_HOME and $XDG_CONFIG_DIRS, or, where there is none,
// where it would be.
func configPath() string {
	xdg.Reload() // the package reads the environment when the program starts, before a test can set it
	if path, err := xdg.SearchConfigFile(configName); err == nil {
		return path
	}
	return filepath.Join(xdg.ConfigHome, configName)
}

// loadConfig applies the configuration file. One that the user has named must
// be there; the default one need not.
func (s *settings) loadConfig(named string) error {
	path := named
	if path == "" {
		path = configPath()
	}
	content, err := os.ReadFile(path)
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return usage("configuration file: %v", err)
	}
	return s.parseConfig(path, content)
}

// parseConfig applies a file's content. A key that is not known, and a value
// that cannot be, are refused with the line they stand in: what is silently
// ignored is believed to work.
func (s *settings) parseConfig(path string, content []byte) error {
	var values map[string]any
	if err := toml.Unmarshal(content, &values); err != nil {
		line, message := 1, err.Error()
		var syntax *toml.DecodeError
		if errors.As(err, &syntax) {
			line, _ = syntax.Position()
		}
		return usage("%s:%d: %s", path, line, strings.TrimPrefix(message, "toml: "))
	}
	known := make(map[string]option)
	var keys []string
	for _, o := range options() {
		known[o.key] = o
		keys = append(keys, o.key)
	}
	for _, key := range inOrder(content, values) {
		line := lineOf(content, key)
		o, ok := known[key]
		if !ok {
			return unknownKey(path, line, key, keys)
		}
		value, err := o.value(values[key])
		if err == nil && value != nil {
			err = o.set(s)(*value)
		}
		if err != nil {
			return usage("%s:%d: %s: %v", path, line, key, err)
		}
	}
	return nil
}

func unknownKey(path string, line int, key string, keys []string) error {
	f := usage("%s:%d: there is no key %q", path, line, text.Clean(key))
	if near := nearest(key, keys); near != "" {
		f.message += fmt.Sprintf("; did you mean %q?", near)
	}
	f.advice = []string{"  vramscope config --print   lists every key"}
	return f
}

// inOrder is the keys of a file, by line, so that the first mistake is the
// one that is told.
func inOrder(content []byte, values map[string]any) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := lineOf(content, a) - lineOf(content, b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return keys
}

// lineOf finds the line in which a top-level key is set, as "key = …",
// "key.sub = …" or "[key]"; 1 where it cannot be found.
func lineOf(content []byte, key string) int {
	quoted := regexp.QuoteMeta(key)
	set := regexp.MustCompile(`^\s*\[{0,2}\s*["']?` + quoted + `["']?\s*[=.\]]`)
	for i, line := range strings.Split(string(content), "\n") {
		if set.MatchString(line) {
			return i + 1
		}
	}
	return 1
}

// value turns a TOML value into the text that the option's setter takes; nil
// leaves the option as it is.
func (o *option) value(value any) (*string, error) {
	text, err := "", error(nil)
	switch v := value.(type) {
	case string:
		text = v
		if o.kind == truthKind || o.kind == numberKind || o.kind == listKind {
			err = fmt.Errorf("want %s, not a text", o.kind.wants())
		}
	case bool:
		text = strconv.FormatBool(v)
		if o.kind != truthKind {
			err = fmt.Errorf("want %s", o.kind.wants())
		}
	case int64:
		text = strconv.FormatInt(v, 10)
		if o.kind != numberKind && o.kind != durationKind {
			err = fmt.Errorf("want %s", o.kind.wants())
		}
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
		if o.kind != durationKind {
			err = fmt.Errorf("want %s", o.kind.wants())
		}
	case []any:
		if o.kind != listKind {
			return nil, fmt.Errorf("want %s", o.kind.wants())
		}
		if len(v) == 0 {
			return nil, nil
		}
		text, err = joined(v)
	default:
		err = fmt.Errorf("want %s", o.kind.wants())
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

// wants says what a kind of option takes.
func (k kind) wants() string {
	switch k {
	case durationKind:
		return `a duration, like "1s", or a number of seconds`
	case truthKind:
		return "true or false"
	case numberKind:
		return "a whole number"
	case listKind:
		return "a list, like [0, 2]"
	default:
		return "a text in quotes"
	}
}
