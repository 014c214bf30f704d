// Package leases has the commands about leases of GPU memory: vramscope lease claim, renew, release
// and list. They ask the daemon, which keeps the leases.
//
//	flags ─→ launch.Needs ─→ socket.ClaimLease ─→ daemon ─→ schema.Lease ─→ render
//
// vramscope run --need is in cli/launch. Start with Command.
package leases

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/launch"
	"vramscope/cli/render"
	"vramscope/daemon/socket"
	"vramscope/schema"
)

// Command returns the command lease, for programs that vramscope run does not start.
func Command(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "lease", Short: "promises of GPU memory: who has them, who waits", Annotations: map[string]string{command.Takes: ""},
		Long: `A lease is a promise of GPU memory among those who ask for one; the daemon keeps
them. vramscope run --need claims one for a command. These commands are for
other programs.

A lease is no limit: what programs use without one counts as used, and no
program is ever ended. docs/sharing.md has the rules and the JSON.`,
		Example: `  vramscope lease list
  vramscope lease claim --need 20GiB --ttl 10m --json
  vramscope lease release 1f0c22d7`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(claimCommand(p), listCommand(p),
		changeCommand(p, "renew ID", "have a lease expire later", true), changeCommand(p, "release ID", "end a lease; its processes go on", false))
	return cmd
}

func claimCommand(p *command.Program) *cobra.Command {
	n, format := launch.Needs{}, ""
	cmd := &cobra.Command{
		Use: "claim --need SIZE", Short: "claim a lease: prints its ID and the GPUs", Annotations: map[string]string{command.Takes: "config gpu nvml-library"},
		Long: `Claims SIZE of memory on the GPU with the most room, or SIZE on each of N with
NxSIZE, and prints the lease's ID and the GPUs' UUIDs, as CUDA_VISIBLE_DEVICES
takes them. SIZE includes CUDA contexts (some hundred MiB for each process).

The lease belongs to the process --pid and what that starts, or to processes
with VRAMSCOPE_LEASE=ID in their environment. It ends with the last of them, by
vramscope lease release, or after --ttl (10m without --pid) if none has used a GPU.
Exit code 3: there is no room.`,
		Example: `  read id gpus < <(vramscope lease claim --need 20GiB)
  VRAMSCOPE_LEASE=$id CUDA_VISIBLE_DEVICES=$gpus ./server &`,
		Args: command.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if n.Need == "" {
				return command.Usage("claim needs --need: how much memory, 20GiB or 2x40GiB")
			}
			given, err := n.Claim(p, socket.Claim{})
			if err != nil {
				return err
			}
			uuids, _ := launch.GPUsOf(&given)
			return p.PrintAs(format, schema.LeaseDocument{Schema: schema.Version, Lease: given}, fmt.Sprintf("%s %s\n", given.ID, uuids))
		},
	}
	n.Add(cmd)
	cmd.Flags().Var(command.Duration(&n.TTL, time.Second, launch.Longest), "ttl", "the lease ends after this time if nothing has used it")
	cmd.Flags().IntVar(&n.PID, "pid", 0, "the process that it is for, with all that this one starts")
	asJSON(cmd, &format)
	command.NameValues(cmd, map[string]string{"ttl": "DURATION", "pid": "PID"})
	return cmd
}

// asJSON adds the flag --json, which sets a format.
func asJSON(cmd *cobra.Command, format *string) {
	cmd.Flags().BoolFunc("json", "as a JSON document", func(string) error { *format = "json"; return nil })
}

func changeCommand(p *command.Program, use, short string, renews bool) *cobra.Command {
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: use, Short: short, Annotations: map[string]string{command.Takes: ""},
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return command.Usage("%s takes the ID of a lease: vramscope lease list shows them", cmd.Name())
			case renews && ttl == 0:
				return command.Usage("renew needs --ttl: how much longer, 10m")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDaemon(cmd.Context(), p, func(client *socket.Client) (err error) {
				if renews {
					_, err = client.RenewLease(cmd.Context(), args[0], ttl)
				} else {
					_, err = client.ReleaseLease(cmd.Context(), args[0])
				}
				return err
			})
		},
	}
	if renews {
		cmd.Flags().Var(command.Duration(&ttl, time.Second, launch.Longest), "ttl", "it expires after this time from now")
		command.NameValues(cmd, map[string]string{"ttl": "DURATION"})
	}
	return cmd
}

func listCommand(p *command.Program) *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use: "list", Short: "who has leases, and who waits", Annotations: map[string]string{command.Takes: "ascii config"},
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.Settings()
			if err != nil {
				return err
			}
			return withDaemon(cmd.Context(), p, func(client *socket.Client) error {
				all, err := client.Leases(cmd.Context())
				if err != nil {
					return err
				}
				return p.PrintAs(format, schema.LeasesDocument{Schema: schema.Version, Leases: all},
					render.Leases(all, p.Now(), render.SignsFor(p.ASCII(&s)), p.OutputWidth()))
			})
		},
	}
	asJSON(cmd, &format)
	return cmd
}

// withDaemon calls act with a client of the daemon that keeps the leases.
func withDaemon(ctx context.Context, p *command.Program, act func(*socket.Client) error) error {
	client, err := socket.DialLeases(ctx, p.Daemons())
	if err == nil {
		err = act(client)
		_ = client.Close() // it has answered
	}
	if err != nil {
		return launch.LeaseFailure(err, 0)
	}
	return nil
}
