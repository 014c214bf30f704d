package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"vramscope/internal/text"
)

// reader sets options from the tables of a file, and collects the mistakes in them.
type reader struct {
	lines    map[string]int // the line of each key: "guard.rule[0].goal"
	mistakes []mistake
}

type mistake struct {
	line    int
	message string
	hints   []string
}

// linesOf finds the line on which each key is mentioned first.
func linesOf(content []byte) map[string]int {
	var parser unstable.Parser
	parser.Reset(content)
	lines, elements, table := map[string]int{}, map[string]int{}, ""
	line, counted := 1, 0 // Parser.Shape would count from the start each time
	for parser.NextExpression() {
		expression, path := parser.Expression(), ""
		if expression.Kind == unstable.KeyValue {
			path = table
		}
		for key := expression.Key(); key.Next(); {
			at := int(key.Node().Raw.Offset)
			line, counted = line+bytes.Count(content[counted:at], []byte("\n")), at
			path = shortened(strings.TrimPrefix(path+"."+string(key.Node().Data), "."))
			lines[path] = cmp.Or(lines[path], line)
			if key.IsLast() && expression.Kind == unstable.ArrayTable {
				elements[path]++
			}
			if n := elements[path]; n > 0 {
				path = fmt.Sprintf("%s[%d]", path, n-1)
				lines[path] = cmp.Or(lines[path], line)
			}
		}
		if expression.Kind != unstable.KeyValue {
			table = path
		}
	}
	return lines
}

// shortened cuts a path that is longer than any known key, because a file can have a thousand keys in
// a table with a long name.
func shortened(path string) string { return path[:min(len(path), 200)] }

// line returns the line of a key, or of the nearest table around it.
func (r *reader) line(path string) int {
	for path = shortened(path); path != ""; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
		if line, ok := r.lines[path]; ok {
			return line
		}
	}
	return 1
}

var index = regexp.MustCompile(`\[\d+\]`)

// fail notes an error, if there is one, about the value of a key.
func (r *reader) fail(path string, err error) {
	if err != nil {
		message := text.Clean(index.ReplaceAllString(path, "")) + ": " + err.Error()
		r.mistakes = append(r.mistakes, mistake{line: r.line(path), message: message})
	}
}

// read sets the options that a table has. root is the path to which the options' keys are relative,
// such as "guard.rule[0]."; prefix is the path from root to this table, such as "when.".
func (r *reader) read(root, prefix string, table map[string]any, options []Option) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		value, key := table[name], prefix+name
		path := root + key
		at := slices.IndexFunc(options, func(o Option) bool { return o.Key == key })
		inner, isTable := value.(map[string]any)
		items, isList := value.([]any)
		switch {
		case path == ruleList || path == importanceList || path == serverList: // read by readRules, readImportance and readServers
		case at >= 0 && options[at].Kind != command && isList && len(items) == 0:
			if root != "" {
				r.fail(path, errors.New("the list is empty: without the key it is all"))
			}
		case at >= 0:
			text, err := options[at].textOf(value)
			if err == nil {
				err = options[at].Set(text)
			}
			r.fail(path, err)
		case !slices.ContainsFunc(options, func(o Option) bool { return strings.HasPrefix(o.Key, key+".") }):
			r.unknown(root, key, options)
		case isTable:
			r.read(root, key+".", inner, options)
		case root == "":
			r.fail(path, fmt.Errorf("it is a table: write [%s] on a line of its own, and its keys below", path))
		default:
			r.fail(path, errors.New("want a table: { … }"))
		}
	}
}

func (r *reader) unknown(root, key string, options []Option) {
	m := mistake{line: r.line(root + key)}
	if root == "" {
		options = append(options, Option{Key: ruleList}, Option{Key: importanceList}, Option{Key: serverList})
		m.hints = []string{"  vramscope config --print   lists every key"}
	}
	table := key[:strings.LastIndexByte(key, '.')+1]
	var known []string
	for _, o := range options {
		if name, ok := strings.CutPrefix(o.Key, table); ok {
			known = append(known, name)
		}
	}
	root = index.ReplaceAllString(root, "")
	m.message = fmt.Sprintf("there is no key %q", text.Clean(root+key))
	if near := text.Nearest(key[len(table):], known); near != "" {
		m.message += fmt.Sprintf("; did you mean %q?", root+table+near)
	}
	r.mistakes = append(r.mistakes, m)
}
