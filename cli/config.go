package cli

import (
	"github.com/spf13/cobra"

	"vramscope/cli/config"
	"vramscope/ui"
)

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
				return p.print([]byte(config.DefaultFile()))
			case path:
				return p.print([]byte(p.configPath() + "\n"))
			}
			s, err := p.settings()
			if err != nil {
				return err
			}
			return p.print([]byte(config.InForce(p.configPath(), &s)))
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
	return config.Path()
}

// saveSettings writes what the monitor's setup has set to the configuration file.
func (p *program) saveSettings(set ui.Settings) (string, error) {
	path := p.configPath()
	keys := []string{"theme", "mouse", "graph_window", "graph_style", "bell", "columns", "sort", "sort_reversed"}
	if set.Interval > 0 {
		keys = append(keys, "interval")
	}
	style := config.Area
	if set.Lines {
		style = config.Lines
	}
	return path, config.Save(path, func(s *config.Settings) {
		s.Theme, s.Mouse, s.GraphWindow, s.GraphStyle, s.Bell, s.Columns, s.Sort, s.Reversed =
			set.Theme, set.Mouse, set.Window, style, set.Bell, set.Columns, set.Sort, set.Reversed
		if set.Interval > 0 {
			s.Interval = set.Interval
		}
	}, keys)
}
