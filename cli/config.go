package cli

import (
	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/config"
)

func configCommand(p *command.Program) *cobra.Command {
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
		Args: command.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case printAll && path:
				return command.Usage("config: --print or --path, not both")
			case printAll:
				return p.Print([]byte(config.DefaultFile()))
			case path:
				return p.Print([]byte(p.ConfigPath() + "\n"))
			}
			s, err := p.Settings()
			if err != nil {
				return err
			}
			return p.Print([]byte(config.InForce(p.ConfigPath(), &s)))
		},
	}
	cmd.Flags().BoolVar(&printAll, "print", false, "print every key with its default, explained")
	cmd.Flags().BoolVar(&path, "path", false, "print the path of the configuration file")
	return cmd
}
