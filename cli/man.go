package cli

import (
	"strings"

	"vramscope/cli/command"
	"vramscope/cli/config"

	"github.com/spf13/cobra"
)

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

// manPage returns the man page, in the macros of man(7).
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
	r.literal(root.Long)
	r.section("Commands")
	r.commands(root)
	r.section("Options of all commands")
	r.literal(root.PersistentFlags().FlagUsagesWrapped(80))
	r.section("Configuration")
	r.text("The file $XDG_CONFIG_HOME/" + config.Name + ", in TOML. With every key, and its default:")
	r.literal(config.DefaultFile())
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

func (r *roff) literal(s string) {
	r.line(".EX")
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		r.text(line)
	}
	r.line(".EE")
}

// commands writes the help of each command below cmd.
func (r *roff) commands(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			r.line(".SS " + escaped(below.CommandPath()))
			usage, _, _ := strings.Cut(usageOf(below), "\nFlags of all commands")
			r.literal(below.Long + "\n\n" + usage)
			r.commands(below)
		}
	}
}

// escaped escapes characters that roff would interpret, and a line that begins like a request.
func escaped(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "–", `\(en`, "…", `\&...`, `"`, `\(dq`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
