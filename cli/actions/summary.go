package actions

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/internal/bounded"
	"vramscope/internal/text"
	"vramscope/probe"
)

// Summary is the command summary.
func Summary(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:         "summary PID",
		Annotations: command.WithoutScreen,
		Short:       "PyTorch's own summary of a process's memory",
		Long: `Prints what torch.cuda.memory_summary() returns in a running process, for each
GPU that it uses: memory, allocations and requests, now, at their peak and in
all, of small and of large blocks.`,
		Example: `  vramscope summary 2963112`,
		Args:    command.OnePID("  vramscope once     lists them"),
		RunE: command.WithPID(func(ctx context.Context, pid int) error {
			src, err := sources.Open(p, 0)
			if err != nil {
				return err
			}
			out, err := newDraft("-", false)
			if err != nil {
				return err
			}
			defer out.discard()
			written, err := snapshotInto(ctx, src, pid, probe.SnapshotRequest{Format: probe.SummaryFormat}, out)
			if err != nil {
				return probeFailure(err, pid, "write PyTorch's summary")
			}
			content, err := bounded.First(io.NewSectionReader(out.file, 0, written.Bytes), probe.SnapshotSize)
			if err != nil {
				return fmt.Errorf("read the summary: %w", err)
			}
			var b strings.Builder
			for line := range strings.Lines(string(content)) {
				b.WriteString(text.Clean(strings.TrimSuffix(line, "\n")) + "\n")
			}
			return p.Print([]byte(b.String()))
		}),
	}
}
