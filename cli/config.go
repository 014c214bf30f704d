package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/internal/text"
)

// config shows the configuration: where it is, what there is to configure,
// what is in force.
func (p *program) config() *cobra.Command {
	var printAll, path bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "what can be configured, where, and what is in force",
		Long: `Shows the settings in force: the defaults, overridden by the configuration file,
overridden by flags.`,
		Example: `  vramscope config                  the settings in force
  vramscope config --path           where the configuration file is, or would be
  vramscope config --print          every key with its default, explained

  mkdir -p ~/.config/vramscope && vramscope config --print > ~/.config/vramscope/config.toml`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case printAll && path:
				return usage("config: --print or --path, not both")
			case printAll:
				return p.print([]byte(defaultConfig()))
			case path:
				return p.print([]byte(p.configPath() + "\n"))
			}
			s, err := p.settings()
			if err != nil {
				return err
			}
			return p.print([]byte(p.inForce(&s)))
		},
	}
	cmd.Flags().BoolVar(&printAll, "print", false, "print every key with its default, explained")
	cmd.Flags().BoolVar(&path, "path", false, "print the path of the configuration file")
	return cmd
}

// configPath is the file that this run reads.
func (p *program) configPath() string {
	if p.flags.config != "" {
		return p.flags.config
	}
	return configPath()
}

// defaultConfig is a configuration file that changes nothing and explains
// everything.
func defaultConfig() string {
	s := defaults()
	var b strings.Builder
	b.WriteString("# The configuration of vramscope, with every key at its default.\n")
	b.WriteString("# Flags on the command line override it.\n")
	for _, o := range options() {
		b.WriteString("\n")
		for line := range strings.SplitSeq(o.comment, "\n") {
			b.WriteString("# " + line + "\n")
		}
		if o.flag != "" {
			b.WriteString("# Flag: --" + o.flag + "\n")
		}
		b.WriteString(o.key + " = " + o.literal(&s) + "\n")
	}
	return b.String()
}

// inForce is the settings of this run, as a configuration file.
func (p *program) inForce(s *settings) string {
	var b strings.Builder
	path := p.configPath()
	if _, err := os.Stat(path); err != nil {
		path += " (not there)"
	}
	b.WriteString("# " + text.Clean(path) + "\n")
	for _, o := range options() {
		fmt.Fprintf(&b, "%s = %s\n", o.key, o.literal(s))
	}
	return b.String()
}
