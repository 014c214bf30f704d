package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
)

// Option is one thing that can be set.
type Option struct {
	Key     string // in the configuration file; "table.key" in a table
	Flag    string // on the command line; "" where there is none
	Holder  string // what stands for the value in help: "DURATION"
	Usage   string // of the flag, one line
	Comment string // in the configuration file
	Kind    Kind
	Set     func(*Settings) func(value string) error
	Literal func(*Settings) string // the value in TOML
}

// Kind is which TOML values an option takes.
type Kind uint8

const (
	words  Kind = iota
	period      // "1s", or a number of seconds
	Truth
	number
	List    // of texts and numbers
	command // a program and its arguments
)

// Options are all options, in the order of the documentation.
func Options() []Option {
	return []Option{
		{
			Key: "interval", Flag: "interval", Holder: "DURATION", Kind: period,
			Usage:   "time between samples: 500ms, 2s or a number of seconds; 100ms to 1m",
			Comment: "Time between samples: \"500ms\", \"2s\" or a number of seconds; from 100ms to 1m.",
			Set:     func(s *Settings) func(string) error { return s.setInterval },
			Literal: func(s *Settings) string { return strconv.Quote(quantity.BriefDuration(s.Interval)) },
		},
		{
			Key: "gpus", Flag: "gpu", Holder: "LIST", Kind: List,
			Usage:   "only these GPUs: indices or UUIDs, comma-separated",
			Comment: "Only these GPUs, by index or UUID: [0, 2, \"GPU-8f1c\"]. Empty: all.",
			Set:     func(s *Settings) func(string) error { return s.setGPUs },
			Literal: func(s *Settings) string { return tomlList(s.GPUs) },
		},
		{
			Key: "nvml_library", Flag: "nvml-library", Holder: "PATH", Kind: words,
			Usage:   "the driver's libnvidia-ml.so.1, where the loader does not find it",
			Comment: "Path of the driver's libnvidia-ml.so.1. Empty: where the dynamic loader finds it.",
			Set:     func(s *Settings) func(string) error { return setText(&s.Library) },
			Literal: func(s *Settings) string { return tomlString(s.Library) },
		},
		{
			Key: "theme", Flag: "theme", Holder: "NAME", Kind: words,
			Usage:   "colours: " + themeList(),
			Comment: "Colours: " + themeList() + ".\nNO_COLOR in the environment turns them off.",
			Set:     func(s *Settings) func(string) error { return s.setTheme },
			Literal: func(s *Settings) string { return tomlString(s.Theme) },
		},
		{
			Key: "ascii", Flag: "ascii", Kind: Truth,
			Usage:   "ASCII characters only",
			Comment: "ASCII characters only. Where the terminal or the locale needs it, this happens by itself.",
			Set:     func(s *Settings) func(string) error { return setTruth(&s.ASCII) },
			Literal: func(s *Settings) string { return strconv.FormatBool(s.ASCII) },
		},
		{
			Key: "read_only", Flag: "read-only", Kind: Truth,
			Usage:   "leave out every action on processes",
			Comment: "Leave out every action on processes.",
			Set:     func(s *Settings) func(string) error { return setTruth(&s.ReadOnly) },
			Literal: func(s *Settings) string { return strconv.FormatBool(s.ReadOnly) },
		},
		{
			Key: "mouse", Kind: Truth,
			Comment: "Capture the mouse from the start (key m toggles it). Text can then be selected only with Shift held.",
			Set:     func(s *Settings) func(string) error { return setTruth(&s.Mouse) },
			Literal: func(s *Settings) string { return strconv.FormatBool(s.Mouse) },
		},
		{
			Key: "graph_window", Kind: period,
			Comment: "How far back graphs reach at the start (key z changes it): from 30s to 24h, or\nauto: 5 minutes, 10 where there is height for it.",
			Set:     func(s *Settings) func(string) error { return s.setGraphWindow },
			Literal: func(s *Settings) string {
				if s.GraphWindow == 0 {
					return strconv.Quote(automatic)
				}
				return strconv.Quote(quantity.BriefDuration(s.GraphWindow))
			},
		},
		{
			Key: "graph_style", Kind: words,
			Comment: "How graphs are drawn (key Z changes it): \"area\" (the parts of memory) or \"lines\".",
			Set:     func(s *Settings) func(string) error { return s.setGraphStyle },
			Literal: func(s *Settings) string { return tomlString(s.graphStyle()) },
		},
		{
			Key: "bell", Kind: Truth,
			Comment: "Ring the terminal's bell for a new red alert, at most once a minute.",
			Set:     func(s *Settings) func(string) error { return setTruth(&s.Bell) },
			Literal: func(s *Settings) string { return strconv.FormatBool(s.Bell) },
		},
		{
			Key: "columns", Kind: List,
			Comment: "The columns of the table of processes, from left to right, also of \"once\" in a terminal:\n" +
				columnList() + "\nGPU, PID and USED are always there, and COMMAND is always last. Where there is no room\nfor all, the least important are left out. Empty: all.",
			Set:     func(s *Settings) func(string) error { return s.setColumns },
			Literal: func(s *Settings) string { return tomlList(s.Columns) },
		},
		{
			Key: "sort", Kind: words,
			Comment: "The column by which processes are sorted at the start:\n" + strings.Join(sortColumns(), ", ") + ".",
			Set:     func(s *Settings) func(string) error { return s.setSort },
			Literal: func(s *Settings) string { return tomlString(s.Sort) },
		},
		{
			Key: "sort_reversed", Kind: Truth,
			Comment: "Sort the other way round: the smallest number, or the last name, first (key r).",
			Set:     func(s *Settings) func(string) error { return setTruth(&s.Reversed) },
			Literal: func(s *Settings) string { return strconv.FormatBool(s.Reversed) },
		},
		{
			Key: "idle_minutes", Kind: number,
			Comment: "A GPU is called idle when more than 1 GiB is used on it and nothing has run there for\nmore than this many minutes: 1 to 1440.",
			Set:     func(s *Settings) func(string) error { return s.setIdle },
			Literal: func(s *Settings) string { return strconv.Itoa(int(s.IdleAfter / time.Minute)) },
		},
		{
			Key: "low_memory_percent", Kind: number,
			Comment: "Free memory of a GPU, in per cent, below which growth, allocation retries or an\nout-of-memory event raise an alert. Little free memory alone never does. 0: no such alert.",
			Set:     func(s *Settings) func(string) error { return s.setLowMemory },
			Literal: func(s *Settings) string { return strconv.Itoa(s.LowMemory) },
		},
		{
			Key: "daemon.record", Kind: Truth,
			Comment: "What vramscope daemon does. record: it records what it samples.",
			Set:     func(s *Settings) func(string) error { return setTruth(&s.Record) },
			Literal: func(s *Settings) string { return strconv.FormatBool(s.Record) },
		},
		{
			Key: "daemon.share", Kind: words,
			Comment: "Who, besides root and this user, may read numbers from the daemon's socket:\n\"none\", \"group:NAME\" or \"all\". Never command lines, paths or actions.",
			Set:     func(s *Settings) func(string) error { return s.setShare },
			Literal: func(s *Settings) string { return tomlString(s.Share) },
		},
		{
			Key: "exporter.address", Kind: words,
			Comment: "Where vramscope daemon serves /metrics for Prometheus: \"127.0.0.1:9841\". Empty: nowhere.",
			Set:     func(s *Settings) func(string) error { return s.setServe },
			Literal: func(s *Settings) string { return tomlString(s.Serve) },
		},
		{
			Key: "exporter.web_config_file", Kind: words,
			Comment: "TLS and passwords for it, as Prometheus' exporter-toolkit has them.",
			Set:     func(s *Settings) func(string) error { return setText(&s.WebConfig) },
			Literal: func(s *Settings) string { return tomlString(s.WebConfig) },
		},
		{
			Key: "exporter.openly", Kind: Truth,
			Comment: "Serve it also where other machines can read it without a password.",
			Set:     func(s *Settings) func(string) error { return setTruth(&s.ServeOpenly) },
			Literal: func(s *Settings) string { return strconv.FormatBool(s.ServeOpenly) },
		},
		{
			Key: "exporter.snapshot", Kind: Truth,
			Comment: "Serve /snapshot.json, too: the document of once, command lines without arguments.",
			Set:     func(s *Settings) func(string) error { return setTruth(&s.ServeSnapshot) },
			Literal: func(s *Settings) string { return strconv.FormatBool(s.ServeSnapshot) },
		},
		{
			Key: "exporter.process_labels", Kind: List,
			Comment: "What is exported of processes. Without \"pid\" their figures are summed by the others;\n[\"none\"]: nothing.",
			Set:     func(s *Settings) func(string) error { return s.setProcessLabels },
			Literal: func(s *Settings) string {
				if len(s.ProcessLabels) == 0 {
					return tomlList([]string{noLabels})
				}
				return tomlList(s.ProcessLabels)
			},
		},
		{
			Key: "exporter.processes", Kind: number,
			Comment: "How many of a GPU's processes, the largest ones, have series of their own: 0 to 1024.\nThe others are one series.",
			Set:     func(s *Settings) func(string) error { return s.setProcesses },
			Literal: func(s *Settings) string { return strconv.Itoa(s.Processes) },
		},
		{
			Key: "recording.keep", Kind: period,
			Comment: "How long recordings are kept: \"30d\", \"36h\"; from 1h to 3650d.",
			Set:     func(s *Settings) func(string) error { return s.setKeep },
			Literal: func(s *Settings) string { return strconv.Quote(inDays(s.Keep)) },
		},
		{
			Key: "recording.max_size", Kind: words,
			Comment: "How large they may become, all together: from 16MiB.",
			Set:     func(s *Settings) func(string) error { return s.setMaxSize },
			Literal: func(s *Settings) string { return strconv.Quote(exactBytes(s.MaxSize)) },
		},
		{
			Key: "recording.commands", Kind: words,
			Comment: "What is recorded of command lines, which may hold secrets: \"name\" (program and\nscript) or \"full\".",
			Set:     func(s *Settings) func(string) error { return s.setCommands },
			Literal: func(s *Settings) string { return tomlString(s.Commands) },
		},
		{
			Key: "alerts.exec", Kind: command,
			Comment: "The command that vramscope daemon runs when an alert is raised about this user's\nprocesses, with the alert as JSON on standard input: [\"/home/bob/bin/tell-me\"]. Empty: none.",
			Set:     func(s *Settings) func(string) error { return s.setAlertCommand },
			Literal: func(s *Settings) string { return tomlList(s.AlertCommand) },
		},
		{
			Key: "guard.mode", Kind: words,
			Comment: "What the guard may do where [[guard.rule]] has rules (docs/guard.md): \"off\",\n\"dry-run\" (it reports what it would do) or \"act\" (in the daemon alone).",
			Set:     func(s *Settings) func(string) error { return s.setGuardMode },
			Literal: func(s *Settings) string { return tomlString(string(s.Guard.Mode)) },
		},
		{
			Key: "guard.every", Kind: period,
			Comment: "Time between two looks of it: from 100ms to 1m.",
			Set:     func(s *Settings) func(string) error { return s.setGuardEvery },
			Literal: func(s *Settings) string { return strconv.Quote(quantity.BriefDuration(s.Guard.Every)) },
		},
		{
			Key: "guard.max_per_minute", Kind: number,
			Comment: "At most so many flushes a minute, on all GPUs together: 1 to 60.",
			Set:     func(s *Settings) func(string) error { return s.setGuardRate },
			Literal: func(s *Settings) string { return strconv.Itoa(s.Guard.MaxPerMinute) },
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
