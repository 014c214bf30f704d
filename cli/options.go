package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// option is one thing that can be set. The table of them is what the flags,
// the configuration file, its documentation and its error messages are made
// of, so that none of them can forget one.
type option struct {
	key     string // in the configuration file
	flag    string // on the command line; "" where there is none
	holder  string // what stands for the value in help: "DURATION"
	usage   string // of the flag, one line
	comment string // in the configuration file
	kind    kind
	set     func(*settings) func(value string) error
	literal func(*settings) string // the value in TOML
}

// kind is which TOML values an option takes.
type kind uint8

const (
	textKind     kind = iota
	durationKind      // "1s", or a number of seconds
	truthKind
	numberKind
	listKind // of texts and numbers
)

// options is every option, in the order of the documentation.
func options() []option {
	return []option{
		{
			key: "interval", flag: "interval", holder: "DURATION", kind: durationKind,
			usage:   "time between samples, 100ms to 1m",
			comment: "Time between samples: \"1s\", \"500ms\"; from 100ms to 1m.",
			set:     func(s *settings) func(string) error { return s.setInterval },
			literal: func(s *settings) string { return strconv.Quote(brief(s.interval)) },
		},
		{
			key: "gpus", flag: "gpu", holder: "LIST", kind: listKind,
			usage:   "only these GPUs: indices or UUIDs, comma-separated",
			comment: "Only these GPUs, by index or UUID: [0, 2, \"GPU-8f1c\"]. Empty: all.",
			set:     func(s *settings) func(string) error { return s.setGPUs },
			literal: func(s *settings) string { return tomlList(s.gpus) },
		},
		{
			key: "nvml_library", flag: "nvml-library", holder: "PATH", kind: textKind,
			usage:   "the driver's libnvidia-ml.so.1, where the loader does not find it",
			comment: "Path of the driver's libnvidia-ml.so.1. Empty: where the dynamic loader finds it.",
			set:     func(s *settings) func(string) error { return setText(&s.library) },
			literal: func(s *settings) string { return tomlString(s.library) },
		},
		{
			key: "theme", flag: "theme", holder: "NAME", kind: textKind,
			usage:   "colours: " + themeList(),
			comment: "Colours: " + themeList() + ".\nNO_COLOR in the environment turns them off.",
			set:     func(s *settings) func(string) error { return s.setTheme },
			literal: func(s *settings) string { return tomlString(s.theme) },
		},
		{
			key: "ascii", flag: "ascii", kind: truthKind,
			usage:   "ASCII characters only",
			comment: "ASCII characters only. Where the terminal or the locale needs it, this happens by itself.",
			set:     func(s *settings) func(string) error { return setTruth(&s.ascii) },
			literal: func(s *settings) string { return strconv.FormatBool(s.ascii) },
		},
		{
			key: "read_only", flag: "read-only", kind: truthKind,
			usage:   "leave out every action on processes",
			comment: "Leave out every action on processes.",
			set:     func(s *settings) func(string) error { return setTruth(&s.readOnly) },
			literal: func(s *settings) string { return strconv.FormatBool(s.readOnly) },
		},
		{
			key: "mouse", kind: truthKind,
			comment: "Capture the mouse from the start (key m toggles it). Text can then be selected only with Shift held.",
			set:     func(s *settings) func(string) error { return setTruth(&s.mouse) },
			literal: func(s *settings) string { return strconv.FormatBool(s.mouse) },
		},
		{
			key: "graph_window", kind: durationKind,
			comment: "How far back graphs reach at the start (key z changes it): from 30s to 24h, or\nauto: 5 minutes, 10 where there is height for it.",
			set:     func(s *settings) func(string) error { return s.setGraphWindow },
			literal: func(s *settings) string {
				if s.graphWindow == 0 {
					return strconv.Quote(automatic)
				}
				return strconv.Quote(brief(s.graphWindow))
			},
		},
		{
			key: "sort", kind: textKind,
			comment: "The column by which processes are sorted at the start:\n" + strings.Join(sortColumns(), ", ") + ".",
			set:     func(s *settings) func(string) error { return s.setSort },
			literal: func(s *settings) string { return tomlString(s.sort) },
		},
		{
			key: "idle_minutes", kind: numberKind,
			comment: "A GPU is called idle when more than 1 GiB is held on it and nothing has run there for\nmore than this many minutes: 1 to 1440.",
			set:     func(s *settings) func(string) error { return s.setIdle },
			literal: func(s *settings) string { return strconv.Itoa(int(s.idleAfter / time.Minute)) },
		},
		{
			key: "low_memory_percent", kind: numberKind,
			comment: "Free memory of a GPU, in per cent, below which growth, allocation retries or an\nout-of-memory event raise an alert. Little free memory alone never does. 0: no such alert.",
			set:     func(s *settings) func(string) error { return s.setLowMemory },
			literal: func(s *settings) string { return strconv.Itoa(s.lowMemory) },
		},
	}
}

// tomlString writes a TOML basic string. JSON's escapes are a subset of
// TOML's for what strconv.Quote leaves readable; bytes that are not UTF-8
// cannot be in a TOML file at all.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func tomlList(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = tomlString(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
