package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/internal/text"
)

func completionCommand(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:         "completion bash|zsh|fish",
		Annotations: map[string]string{command.Takes: ""},
		Short:       "a completion script for a shell",
		Long: `Writes a script that completes vramscope's commands, flags and values.

  bash   vramscope completion bash > ~/.local/share/bash-completion/completions/vramscope
  zsh    vramscope completion zsh > "${fpath[1]}/_vramscope"
  fish   vramscope completion fish > ~/.config/fish/completions/vramscope.fish`,
		DisableFlagsInUseLine: true,
		ValidArgs:             []string{"bash", "zsh", "fish"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.Usage("completion: name one shell: bash, zsh or fish")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var script bytes.Buffer
			var err error
			switch args[0] {
			case "bash":
				err = cmd.Root().GenBashCompletionV2(&script, true)
			case "zsh":
				err = cmd.Root().GenZshCompletion(&script)
			case "fish":
				err = cmd.Root().GenFishCompletion(&script, true)
			default:
				return command.Usage("completion: %q is not bash, zsh or fish", text.Clean(args[0]))
			}
			if err != nil {
				return fmt.Errorf("completion for %s: %w", args[0], err)
			}
			return p.Print(script.Bytes())
		},
	}
}
