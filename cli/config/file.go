package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"github.com/pelletier/go-toml/v2"

	"vramscope/guard"
	"vramscope/internal/install"
	"vramscope/internal/process"
	"vramscope/internal/text"
)

// Name is the path of the configuration file below a configuration directory.
const Name = "vramscope/config.toml"

// Error says why a configuration file is refused.
type Error struct {
	Message string
	Hints   []string // lines below the message
}

func (e *Error) Error() string { return e.Message }

// refuse makes an Error. It cuts the message, which can contain a long key or value of the file.
func refuse(format string, args ...any) *Error {
	return &Error{Message: text.Cut(fmt.Sprintf(format, args...), longestMessage, "…")}
}

const longestMessage = 1000

// Path returns the file to read without --config: the first one in $XDG_CONFIG_HOME and
// $XDG_CONFIG_DIRS, or else the path for a new one. It skips an $XDG_CONFIG_HOME of another user (sudo -E).
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

// Load applies the configuration file named, which must exist, or else the default one, if it exists.
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
	var needs string // the key for which the file must be trusted
	switch lists := len(s.Guard.Rules) + len(s.Guard.Importance); {
	case s.Library != library: // code that this program loads
		needs = "nvml_library"
	case !slices.Equal(s.AlertCommand, exec): // a command that the daemon runs
		needs = "alerts.exec"
	case len(s.Servers) > 0: // where the servers' keys are sent
		needs = "server"
	case lists > 0 || s.Guard.Mode == guard.Act: // they choose the processes to flush (in mode dry-run too, because of --guard=act) and order claims for leases
		needs = "guard"
	default:
		return nil
	}
	if _, err := install.Trusted(path); err != nil {
		return refuse("%s: %v", needs, err)
	}
	return nil
}

// fileSize is the size of the largest file that is parsed, in bytes.
const fileSize = 1 << 20

// parse applies a file's content. Unknown keys and impossible values are refused; the error names the
// line of the first mistake.
func (s *Settings) parse(path string, content []byte) error {
	var values map[string]any
	if err := toml.Unmarshal(content, &values); err != nil {
		line, message := 1, err.Error()
		if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = syntax.Position()
		}
		return refuse("%s:%d: %s", path, line, strings.TrimPrefix(message, "toml: "))
	}
	r := reader{lines: linesOf(content)}
	r.read("", "", values, Options(s))
	table, _ := values["guard"].(map[string]any)
	r.readRules(&s.Guard, table["rule"])
	r.readImportance(&s.Guard, table["importance"])
	r.readServers(&s.Servers, values[serverList])
	if len(r.mistakes) == 0 {
		return nil
	}
	first := slices.MinFunc(r.mistakes, func(a, b mistake) int { return a.line - b.line })
	refused := refuse("%s:%d: %s", path, first.line, first.message)
	refused.Hints = first.hints
	return refused
}

// DefaultFile returns a configuration file with every option at its default, explained.
func DefaultFile() string {
	s := Defaults()
	return "# The configuration of vramscope, with every key at its default.\n" +
		"# Flags on the command line override it.\n" + written(&s, true)
}

// InForce returns the settings of a run, as a configuration file.
func InForce(path string, s *Settings) string {
	if _, err := os.Stat(path); err != nil {
		path += " (not there)"
	}
	return "# " + text.Clean(path) + "\n" + written(s, false) + lists(s)
}

// written returns the options of settings in TOML.
func written(s *Settings, explained bool) string {
	var b strings.Builder
	current := ""
	for _, o := range Options(s) {
		table, name, dotted := strings.Cut(o.Key, ".")
		if explained {
			b.WriteString("\n")
		}
		if !dotted {
			name = table
		} else if table != current {
			current = table
			b.WriteString("[" + table + "]\n")
		}
		if explained {
			b.WriteString("# " + strings.ReplaceAll(o.Comment, "\n", "\n# ") + "\n")
		}
		if explained && o.Flag != "" {
			b.WriteString("# Flag: --" + o.Flag + "\n")
		}
		b.WriteString(name + " = " + o.Literal() + "\n")
	}
	return b.String()
}
