package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/daemon/socket"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/probe/attach"
	"vramscope/sampler/snapshot"
)

// Box is what is examined.
type Box struct {
	Version  string
	Snapshot *snapshot.Snapshot
	Unusable error // that the monitor would end with; nil where it would work

	Driver  nvml.Driver   // as the driver was opened
	Devices []nvml.Device // all there are, also where only some are sampled
	Missing []nvml.Capability
	Library string // that the settings name

	// Of this machine; nil for a simulated box.
	Table    *process.Table
	Problems []probe.Problem // probes that cannot be read
	Attacher *attach.Attacher
	Log      *action.Log
	Daemon   *socket.Status  // that answers; nil where none does
	NoDaemon error           // why not
	Guard    *snapshot.Guard // of the daemon; nil where it has none
	CacheErr error           // why the native probe's file can be put nowhere

	Terminal bool // standard output is one
	Screen   bool // it can show the monitor
	Output   *os.File
	Getenv   func(string) string

	ConfigPath string
	ConfigErr  error // why the configuration is refused
}

// verdict is how a finding is.
type verdict string

const (
	works   verdict = "ok"
	fails   verdict = "no"
	neither verdict = "--" // nothing to judge, or a matter of taste
)

// finding is one line of the report, and what to do about it.
type finding struct {
	verdict verdict
	what    string
	text    string
	next    []string
}

type section struct {
	title    string
	findings []finding
}

// Report is everything there is to say, in lines.
func Report(b *Box) []string {
	title := fmt.Sprintf("vramscope %s on %s", b.Version, oneWord(cmp.Or(b.Snapshot.Host.Name, "?")))
	if b.Snapshot.Simulated {
		title += "  SIMULATED"
	}
	return append([]string{title}, lines([]section{
		{"driver", b.driver()},
		{"GPUs", b.gpus()},
		{"processes", b.processes()},
		{"probes", b.probes()},
		{"daemon", b.daemon()},
		{"Python processes: could a probe be attached?", b.pythons()},
		{"terminal", b.terminal()},
		{"configuration", b.configuration()},
	})...)
}

// lines aligns the findings: verdict, what, text, and below it what to do next.
func lines(sections []section) []string {
	width := 0
	for _, s := range sections {
		for _, f := range s.findings {
			width = max(width, text.Width(f.what))
		}
	}
	var out []string
	for _, s := range sections {
		if len(s.findings) == 0 {
			continue
		}
		out = append(out, "", s.title)
		for _, f := range s.findings {
			out = append(out, fmt.Sprintf("  %s  %s  %s", f.verdict, text.Pad(f.what, width), f.text))
			for _, next := range f.next {
				out = append(out, strings.Repeat(" ", width+8)+next)
			}
		}
	}
	return out
}

func (b *Box) configuration() []finding {
	if b.ConfigErr != nil {
		return []finding{failed(b.ConfigErr, "settings")}
	}
	if _, err := os.Stat(b.ConfigPath); err != nil {
		return []finding{{verdict: neither, what: "file", text: text.Clean(b.ConfigPath) + " is not there: defaults"}}
	}
	return []finding{{verdict: works, what: "file", text: text.Clean(b.ConfigPath)}}
}

// failed reports an error as a finding, with the advice that it carries.
func failed(err error, what string) finding {
	f := finding{verdict: fails, what: what, text: text.Clean(err.Error())}
	if worded, ok := errors.AsType[*command.Failure](err); ok {
		f.next = trimmed(worded.Next)
	}
	return f
}

// trimmed is advice without indentation, blank lines, exit codes and the pointer to doctor.
func trimmed(advice []string) []string {
	var lines []string
	for _, line := range advice {
		line = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "(exit 9)"))
		if line != "" && !strings.HasPrefix(line, "not sure") {
			lines = append(lines, line)
		}
	}
	return lines
}

func oneWord(s string) string { return strings.ReplaceAll(text.Clean(s), " ", "_") }

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return " (" + text.Clean(s) + ")"
}
