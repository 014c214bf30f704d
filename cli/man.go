package cli

import (
	"fmt"
	"strings"

	mcobra "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

// man writes the man page, generated from the commands.
func (p *program) man() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "the man page, in roff",
		Long: `Writes the man page. To read it, or to install it:

  vramscope man | man -l -
  vramscope man > ~/.local/share/man/man1/vramscope.1`,
		DisableFlagsInUseLine: true,
		Args:                  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := mcobra.NewManPage(1, cmd.Root())
			if err != nil {
				return fmt.Errorf("man page: %w", err)
			}
			page = page.
				WithSection("Exit status", exitCodes).
				WithSection("Files", "$XDG_CONFIG_HOME/"+configName+"\nThe configuration file; vramscope config --print documents its keys.").
				WithSection("Environment", "NO_COLOR\nTurns colours off, whatever its value.").
				WithSection("Examples", strings.TrimRight(cmd.Root().Example, "\n"))
			return p.print([]byte(page.Build(roff.NewDocument()) + "\n"))
		},
	}
}
