package cli

import (
	"strings"

	"vramscope/cli/command"
	"vramscope/cli/config"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand writes the man page, generated from the commands and the options.
func manCommand(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:         "man",
		Annotations: map[string]string{command.Takes: ""},
		Short:       "the man page, in roff",
		Long: `Writes the man page. To read it, or to install it:

  vramscope man | man -l -
  vramscope man > ~/.local/share/man/man1/vramscope.1`,
		DisableFlagsInUseLine: true,
		Args:                  command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.Print([]byte(manPage(cmd.Root())))
		},
	}
}

// manPage returns the page in roff, in the macros of man(7).
func manPage(root *cobra.Command) string {
	var r roff
	r.line(`.TH VRAMSCOPE 1 "" "vramscope ` + escaped(command.VersionNumber()) + `" "User Commands"`)
	r.section("Name")
	r.text(root.Name() + " - " + root.Short)
	r.section("Synopsis")
	r.line(".B vramscope")
	r.text("[options]")
	r.line(".br")
	r.line(".B vramscope")
	r.text("command [options]")
	r.section("Description")
	r.prose(root.Long)
	r.section("Commands")
	for _, command := range root.Commands() {
		if command.IsAvailableCommand() {
			r.command(command)
		}
	}
	r.section("Options of all commands")
	r.flags(root.PersistentFlags())
	r.section("Configuration")
	r.prose("The file $XDG_CONFIG_HOME/" + config.Name + ", in TOML. Its keys, with their defaults:")
	s := config.Defaults()
	for _, o := range config.Options(&s) {
		r.line(".TP")
		r.line(".B " + escaped(o.Key+" = "+o.Literal()))
		r.prose(o.Comment)
	}
	r.section("Environment")
	r.line(".TP")
	r.line(".B NO_COLOR")
	r.text("Turns colours off, whatever its value.")
	r.line(".TP")
	r.line(".B HOME")
	r.text("Where it is not set, or another user's (sudo -E), the home directory that the password database names.")
	r.section("Files")
	for _, f := range [][2]string{
		{"$XDG_STATE_HOME/vramscope", "the audit log of flushes, attaches and signals (audit.log), and the snapshots that the key w writes; by default in ~/.local/state"},
		{command.BoxState, "root's audit log, where XDG_STATE_HOME is not set, and what root's daemon records"},
		{"$XDG_CACHE_HOME/vramscope", "the probes that run and env hand to programs; by default in ~/.cache"},
		{"$XDG_RUNTIME_DIR/vramscope, /tmp/vramscope-UID, /tmp/vramscope-UID-RANDOM", "the sockets on which probes answer"},
	} {
		r.line(".TP")
		r.line(".I " + escaped(f[0]))
		r.text(f[1])
	}
	r.section("Exit status")
	r.literal(exitCodes)
	r.section("Examples")
	r.literal(root.Example)
	r.section("See also")
	r.text("nvidia-smi(1), nvtop(1)")
	return r.String()
}

type roff struct{ strings.Builder }

func (r *roff) line(s string) { r.WriteString(s + "\n") }

func (r *roff) text(s string) { r.line(escaped(s)) }

func (r *roff) section(title string) { r.line(".SH " + strings.ToUpper(title)) }

// prose writes paragraphs; lines that begin with two blanks stay as they are.
func (r *roff) prose(s string) {
	for i, paragraph := range strings.Split(strings.Trim(s, "\n"), "\n\n") {
		if i > 0 {
			r.line(".PP")
		}
		if strings.HasPrefix(paragraph, "  ") {
			r.literal(paragraph)
			continue
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			r.text(line)
		}
	}
}

func (r *roff) literal(s string) {
	r.line(".EX")
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		r.text(line)
	}
	r.line(".EE")
}

func (r *roff) command(command *cobra.Command) {
	r.line(".SS " + escaped(strings.TrimSuffix(command.UseLine(), " [flags]")))
	r.prose(command.Long)
	r.flags(command.LocalNonPersistentFlags())
	if command.HasExample() {
		r.line(".PP")
		r.literal(command.Example)
	}
}

func (r *roff) flags(flags *pflag.FlagSet) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand + ", " + name
		}
		holder, usage := pflag.UnquoteUsage(flag)
		r.line(".TP")
		if holder == "" || flag.NoOptDefVal != "" {
			r.line(".B " + escaped(name))
		} else {
			r.line(`.BI "` + escaped(name) + ` " "` + escaped(holder) + `"`)
		}
		// What stands there may begin with a value, which is written small.
		if flag.DefValue != "" && flag.DefValue != "false" {
			usage += " (default " + flag.DefValue + ")"
		}
		r.text(usage)
	})
}

// escaped keeps text from being taken for roff: backslashes, dashes that are
// minus signs, and lines that begin like a request.
func escaped(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "–", `\(en`, "…", `\&...`, `"`, `\(dq`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
