package boxes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/monitor"
	"vramscope/cli/sources"
	"vramscope/fleet"
	fleetscreen "vramscope/fleet/screen"
	"vramscope/internal/panics"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
	"vramscope/ui"
	"vramscope/ui/terminal"
)

// fleetFlags name the source of a fleet's figures, and choose which figures are shown.
type fleetFlags struct {
	prometheus string
	httpConfig string
	ssh        []string
	filter     string
	boxes      bool
	simulated  bool // the boxes of demo fleet
	view       string
}

func Command(p *command.Program) *cobra.Command {
	var f fleetFlags
	cmd := &cobra.Command{
		Use:         "fleet --prometheus URL | --ssh HOST[,HOST]",
		Annotations: map[string]string{command.Takes: "ascii config read-only theme"}, // no GPU of this box is read
		Short:       "many boxes at once, from Prometheus or over ssh",
		Long: `Shows the GPUs of many boxes, worst first: out of memory, full soon, lost (also
boxes that do not answer), idle while they hold memory, other alerts, then the
fullest. Tab goes on to boxes, GPUs, users and jobs; a user or a job has what
its own processes have. Enter opens a box on the monitor's screen, with its
processes and its past; o runs ssh -t BOX vramscope.

--prometheus reads an engine that scrapes vramscope daemon --serve,
dcgm-exporter or nvidia_gpu_exporter: any that speaks Prometheus' HTTP API.
--http-config is a file in Prometheus' own form: basic_auth, authorization,
tls_config, proxy_url.

--ssh runs vramscope stream on each HOST with your own ssh and its configuration
(BatchMode: it asks for no password).

A filter is words, all of which must match: a part of a host, user or job, or
host=, user=, job= with one, or state= with down, lost, alert, full or idle.
docs/fleet.md has the rest.`,
		Example: `  vramscope fleet --prometheus http://prometheus:9090
  vramscope fleet --ssh h100-01,h100-02,alice@h100-03
  vramscope fleet --prometheus https://prometheus --http-config client.yml
  vramscope fleet once --prometheus http://prometheus:9090 --filter user=alice
  vramscope fleet headroom --prometheus http://prometheus:9090 --need 40GiB --count 8`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runFleet(cmd.Context(), p, &f) },
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.prometheus, "prometheus", "", "the engine: http://HOST:9090")
	flags.StringVar(&f.httpConfig, "http-config", "", "how it is reached: a file with basic_auth, tls_config and so on")
	flags.Func("ssh", "boxes to ask over ssh, comma-separated", f.addHosts)
	flags.StringVar(&f.filter, "filter", "", "show only what matches: 'h100- user=alice'")
	f.addBoxes(cmd)
	command.NameValues(cmd, map[string]string{"prometheus": "URL", "http-config": "FILE", "filter": "WORDS", "ssh": "HOST[,HOST]"})
	cmd.AddCommand(fleetOnce(p, &f), fleetHeadroom(p, &f))
	return cmd
}

// addHosts adds the hosts of one --ssh flag, which may be given several times.
func (f *fleetFlags) addHosts(value string) error {
	for name := range strings.SplitSeq(value, ",") {
		host, err := fleet.Destination(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		f.ssh = append(f.ssh, host)
	}
	return nil
}

// addBoxes adds --boxes and --view to a command.
func (f *fleetFlags) addBoxes(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.boxes, "boxes", false, "the same as --view boxes")
	command.ChoiceFlag(cmd, &f.view, "view", "", "auto", "boxes", "gpus", "users", "jobs")
}

// source returns the source of the figures, and its name. Streams from boxes run until end is called.
func (f *fleetFlags) source(ctx context.Context, now func() time.Time) (source fleet.Source, name string, end func(), err error) {
	running := func(boxes *fleet.SSH) func() {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { boxes.Run(ctx) })
		return func() { cancel(); running.Wait() }
	}
	switch {
	case f.simulated:
		stream := func(ctx context.Context, host string, take func(*snapshot.Snapshot)) error {
			return simulatedBox(ctx, now, host, take)
		}
		boxes := fleet.NewStreams(demoBoxes(), stream, now)
		return boxes, "simulated boxes", running(boxes), nil
	case (f.prometheus == "") == (len(f.ssh) == 0):
		return nil, "", nil, command.Usage("fleet needs either --prometheus or --ssh").
			Then("  vramscope fleet --prometheus http://prometheus:9090", "  vramscope fleet --ssh h100-01,h100-02")
	case f.prometheus == "" && f.httpConfig != "":
		return nil, "", nil, command.Usage("--http-config goes with --prometheus")
	case f.prometheus == "":
		boxes := fleet.NewSSH(f.ssh, now)
		return boxes, "ssh", running(boxes), nil
	}
	engine, name, err := fleet.NewPrometheus(f.prometheus, f.httpConfig)
	if err != nil {
		return nil, "", nil, command.Usage("%v", err)
	}
	return engine, name, func() {}, nil
}

func (f *fleetFlags) query(lines, fit int) (fleet.Query, error) {
	filter, err := fleet.ParseFilter(f.filter)
	if err != nil {
		return fleet.Query{}, command.Usage("--filter: %v", err)
	}
	q := fleet.Query{Lines: lines, Fit: fit, Filter: filter}
	q.Unit = map[string]fleet.Unit{"boxes": fleet.Boxes, "gpus": fleet.GPUs, "users": fleet.Users, "jobs": fleet.Jobs}[f.view]
	if f.boxes {
		if q.Unit != fleet.Fitting && q.Unit != fleet.Boxes {
			return fleet.Query{}, command.Usage("--boxes is --view boxes: not both it and --view %s", f.view)
		}
		q.Unit = fleet.Boxes
	}
	if q.Unit.OfProcesses() && filter.ByState() {
		return fleet.Query{}, command.Usage("--view %s takes no state= in --filter: users and jobs have none", f.view)
	}
	return q, nil
}

func runFleet(ctx context.Context, p *command.Program, f *fleetFlags) error {
	if !p.HasScreen() {
		return monitor.InsteadOfScreen(p, runFleetOnce(ctx, p, f, "table", usualFleetLines))
	}
	defer p.StayLight()()
	s, err := p.Settings()
	if err != nil {
		return err
	}
	q, err := f.query(0, 0) // the screen knows how many lines it has
	if err != nil {
		return err
	}
	input, err := monitor.Keyboard(p)
	if err != nil {
		return err
	}
	source, name, end, err := f.source(ctx, p.Now)
	if err != nil {
		return err
	}
	defer end()
	every, openEvery := 10*time.Second, 5*time.Second // engines usually scrape every 15 s or less often
	if f.prometheus == "" {
		every, openEvery = time.Second, time.Second // boxes send a snapshot a second
	}
	polling := fleet.NewPoller(source, every, p.Now)
	place, message := fleetscreen.Place{Unit: q.Unit, Filter: q.Filter}, ""
	for {
		out, err := fleetscreen.Run(ctx, fleetscreen.Options{
			Poller: polling, Name: name, Place: place, Message: message, Theme: s.Theme, ASCII: s.ASCII,
			Open: func(ctx context.Context, box string) (*fleet.Opened, error) {
				return fleet.Open(ctx, source, box, openEvery, p.Now)
			},
			Input: input, Output: p.Stdout, Environ: os.Environ(), Now: p.Now,
		})
		place, message = out.Place, ""
		switch {
		case err != nil:
			return err
		case out.Shell != "" && f.simulated:
			message = out.Shell + " is simulated: there is nothing to log in to"
		case out.Shell != "":
			message = shell(ctx, p, input, out.Shell, s.ReadOnly)
		case out.Open != nil:
			if back, err := showBox(ctx, p, out.Open, &s, input); err != nil || !back {
				return err
			}
		default:
			return nil
		}
	}
}

// shell runs the monitor on a box over ssh, in this terminal. It returns why that failed, "" if it did not.
func shell(ctx context.Context, p *command.Program, input *os.File, host string, readOnly bool) string {
	args := []string{"-t", "--", host, "vramscope"}
	if readOnly {
		args = append(args, "--read-only")
	}
	cmd := exec.CommandContext(ctx, "ssh", args...)
	said := &fleet.LastLine{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, p.Stdout, io.MultiWriter(p.Stderr, said) //nolint:forbidigo // it goes to the terminal, and a LastLine is bounded
	err := terminal.RunChild(cmd)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ended) && ended.ExitCode() == 127:
		return "ssh " + host + ": vramscope is not installed there, or not in its PATH"
	case said.String() != "":
		return "ssh " + host + ": " + said.String()
	}
	return fmt.Sprintf("ssh %s: %v", host, err)
}

// showBox shows one box on the monitor's screen. It reports whether the user wants to go back.
func showBox(ctx context.Context, p *command.Program, box *fleet.Opened, s *config.Settings, input *os.File) (back bool, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		defer panics.To(fail, "fleet") // ui.Run restores the screen
		box.Run(ctx)
	})
	defer func() { fail(nil); running.Wait() }()
	o := monitor.ScreenOptions(p, s, input)
	o.Source, o.History, o.ReadOnly, o.Escaped, o.Now = box, box, true, func() { back = true }, box.Now
	err = ui.Run(ctx, o)
	return back, err
}

func Demo(p *command.Program) *cobra.Command {
	f := fleetFlags{simulated: true}
	cmd := &cobra.Command{
		Use:         "fleet",
		Annotations: map[string]string{command.Takes: "ascii config demo read-only theme"},
		Short:       "many boxes on one screen",
		Long: `Shows vramscope fleet with a dozen simulated boxes in this process. Without a
terminal it is one table, as of vramscope fleet once.`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runFleet(cmd.Context(), p, &f) },
	}
	f.addBoxes(cmd)
	return cmd
}

func demoBoxes() []string {
	const count = 12
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("h100-%02d", i+1))
	}
	return names
}

// simulatedBox streams the snapshots of a simulated box. Each box is at another point of its story,
// and one box does not answer.
func simulatedBox(ctx context.Context, now func() time.Time, host string, take func(*snapshot.Snapshot)) error {
	const down, apart, step = 6, 2 * time.Minute, 10 * time.Second
	number := slices.Index(demoBoxes(), host)
	if number == down {
		return errors.New("simulated: no route to host")
	}
	src := &sources.Set{Options: sampler.Options{Interval: time.Second}}
	o := simulator.Options{Seed: uint64(number), GPUs: []int{8, 4, 8, 2}[number%4], Prelude: sources.DemoPast}
	src.Simulate(o, sources.DemoPast+time.Duration(number)*apart, now)
	sampling := sampler.New(src.Options)
	src.CatchUp(sampling, step)
	finished := make(chan error, 1)
	go func() { finished <- sampling.Run(ctx) }()
	for {
		select {
		case <-sampling.Updates():
			snap := *sampling.Latest()
			snap.Host.Name = host
			take(&snap)
		case err := <-finished:
			return cmp.Or(err, ctx.Err())
		}
	}
}
