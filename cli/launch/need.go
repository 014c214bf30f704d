package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/daemon/socket"
	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/lease"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Longest limits --wait, --for and --ttl.
const Longest = 7 * 24 * time.Hour

// Needs holds the flags of a claim.
type Needs struct {
	Need         string
	TTL          time.Duration
	PID          int // the process that the lease is for; 0: none
	wait, length time.Duration
	cap          string             // the limit on what allocators may reserve, only for run; "": none
	visible      *snapshot.Snapshot // the GPUs at the time of the claim
}

// capAtNeed is the value of --cap without an argument: --need less contexts, but at least half of --need.
const (
	capAtNeed = "need"
	contexts  = 512 * quantity.MiB // the same as lease_reserve's default
)

// Add adds the flags that all claims have.
func (n *Needs) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&n.Need, "need", "", "a lease of so much memory: 20GiB, or on each of two GPUs 2x40GiB")
	flags.Var(command.Duration(&n.wait, time.Second, Longest), "wait", "wait for it, at most for this long (a week)")
	flags.Lookup("wait").NoOptDefVal = "168h"
	flags.Var(command.Duration(&n.length, time.Second, Longest), "for", "how long it will take: others' claims may then be met sooner")
	command.NameValues(cmd, map[string]string{"need": "SIZE", "wait": "DURATION", "for": "DURATION"})
}

// Claim claims what the flags ask for, among the GPUs that are visible here.
func (n *Needs) Claim(p *command.Program, claim socket.Claim) (schema.Lease, error) {
	q, ok := headroom.ParseNeed(n.Need)
	if !ok {
		return schema.Lease{}, command.Usage("--need: %q is not an amount of memory: write 20GiB, 512MiB or 2x40GiB", text.Clean(n.Need))
	}
	claim.Need, claim.Count, claim.Length, claim.TTL, claim.Wait = q.Need, q.Count, n.length, n.TTL, n.wait
	claim.Parent, claim.PID = p.Getenv(lease.Variable), n.PID
	var err error
	if claim.Among, err = n.look(p); err != nil {
		return schema.Lease{}, err
	}
	began := p.Now()
	status := &command.Status{Program: p, Ellipsis: "..."}
	given, err := socket.ClaimLease(context.Background(), p.Daemons(), claim, func(waiting schema.Lease) {
		standing := string(waiting.Standing)
		status.Show(standing, fmt.Sprintf("vramscope: waiting %s: %s", quantity.BriefDuration(p.Now().Sub(began).Round(time.Second)), standing))
	})
	status.Clear()
	if err != nil {
		return given, LeaseFailure(err, n.wait)
	}
	return given, nil
}

// LeaseFailure returns why there is no lease, and what to do about it. waited is the claim's limit on waiting.
func LeaseFailure(err error, waited time.Duration) error {
	refusal, refused := errors.AsType[*probe.Error](err)
	switch {
	case socket.Absent(err):
		return &command.Failure{Code: command.ExitFailure, Err: err, Message: "a daemon keeps the leases, and none answers", Next: []string{
			"  vramscope daemon &                            yours, among your own processes",
			"  sudo systemctl enable --now vramscope-daemon  root's, among all users': share in its [daemon]",
		}}
	case !refused:
		return command.Failed(err)
	case refusal.Code == socket.NoRoom && waited > 0:
		return command.Refused(err, "no room in %s: %s", quantity.BriefDuration(waited), refusal.Message)
	case refusal.Code == socket.NoRoom:
		f := command.Refused(err, "no room: %s", refusal.Message)
		f.Next = []string{"  --wait waits for it"}
		return f
	}
	return command.Refused(err, "%s", refusal.Message)
}

// look returns the UUIDs of the GPUs and MIG instances that CUDA shows to this process and --gpu
// allows, in CUDA's order.
func (n *Needs) look(p *command.Program) ([]string, error) {
	s, err := p.Settings()
	if err != nil {
		return nil, err
	}
	src := sources.OpenWith(p, &s, 0)
	snap := src.GPUs()
	n.visible = snap
	if snap.Driver.State != snapshot.DriverOK || len(snap.GPUs) == 0 {
		return nil, cmp.Or(src.Unusable(snap), error(command.Failed(errors.New("no GPU is visible here"))))
	}
	_, devices := src.Driver.Opened()
	if err := sources.Unmatched(s.GPUs, devices); err != nil {
		return nil, err
	}
	list, limited := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	shown, err := shownBy(list, limited, p.Getenv("CUDA_DEVICE_ORDER") == "PCI_BUS_ID", snap.GPUs)
	if err != nil {
		return nil, err
	}
	shown = slices.DeleteFunc(shown, func(uuid string) bool {
		g, _ := snap.Device(uuid)
		return len(s.GPUs) > 0 && !slices.ContainsFunc(s.GPUs, func(want string) bool {
			return want == strconv.Itoa(g.Index) || len(want) > 3 && (strings.HasPrefix(g.UUID, want) || strings.HasPrefix(uuid, want))
		})
	})
	if len(shown) == 0 {
		return nil, command.Refused(nil, "no GPU is left: CUDA_VISIBLE_DEVICES is %q", text.Clean(list))
	}
	return shown, nil
}

// shownBy returns the devices that CUDA_VISIBLE_DEVICES shows. An entry that names no device ends the list.
// Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#env-vars
func shownBy(list string, limited, byBus bool, gpus []snapshot.GPU) (shown []string, err error) {
	var all []string
	for i := range gpus {
		if !gpus[i].MIG {
			all = append(all, gpus[i].UUID)
		}
		for j := range gpus[i].Instances {
			all = append(all, gpus[i].Instances[j].UUID)
		}
	}
	if !limited {
		return all, nil
	}
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		index, notNumber := strconv.Atoi(entry)
		if notNumber == nil && index >= 0 && index < len(gpus) {
			g := &gpus[index]
			if !byBus && slices.ContainsFunc(gpus, func(other snapshot.GPU) bool { return other.Name != g.Name }) {
				return nil, command.Usage("CUDA_VISIBLE_DEVICES has numbers, and CUDA's order of GPUs of several models is not known: "+
					"export CUDA_DEVICE_ORDER=PCI_BUS_ID, or name them by UUID (%s)", g.UUID)
			}
			if entry = g.UUID; g.MIG && len(g.Instances) > 0 {
				entry = g.Instances[0].UUID
			}
		}
		at := slices.IndexFunc(all, func(uuid string) bool { return len(entry) > 4 && strings.HasPrefix(uuid, entry) })
		if at < 0 {
			break
		}
		shown = append(shown, all[at])
	}
	return shown, nil
}

// capped returns the value of --cap, 0 without --cap or without its argument. It fails if program looks like the argument of --wait or --cap.
func (n *Needs) capped(program string) (most quantity.Bytes, err error) {
	if command.Duration(new(time.Duration), time.Second, Longest).Set(program) == nil && n.wait == Longest {
		return 0, command.Usage("--wait %s is a flag and a command: write --wait=%[1]s", text.Clean(program))
	}
	if _, err := quantity.ParseBytes(program); err == nil && n.cap == capAtNeed {
		return 0, command.Usage("--cap %s is a flag and a command: write --cap=%[1]s", text.Clean(program))
	}
	if n.cap == "" || n.cap == capAtNeed {
		return 0, nil
	}
	if most, err = quantity.ParseBytes(n.cap); err != nil || most <= 0 {
		return 0, command.Usage("--cap: %q is not an amount of memory: write --cap=20GiB, or --cap for what --need says, less %s", text.Clean(n.cap), contexts)
	}
	return most, nil
}

// withLease claims a lease for this process, which becomes the command, and sets the environment.
func (n *Needs) withLease(p *command.Program, argv []string, most quantity.Bytes, verbose bool) error {
	given, err := n.Claim(p, socket.Claim{Self: true, Ask: lease.Ask{Claim: lease.Claim{Command: strings.Join(argv, " ")}}})
	if err != nil {
		return err
	}
	uuids, labels := GPUsOf(&given)
	if verbose || time.Time(given.Since).Sub(time.Time(given.AskedAt)) > time.Second {
		p.Warn("lease %s: %s on GPU %s", given.ID, given.NeedBytes, labels)
	}
	if n.cap != "" {
		err = n.limit(p, &given, cmp.Or(most, max(given.NeedBytes-contexts, given.NeedBytes/2)))
	}
	return errors.Join(err, os.Setenv("CUDA_VISIBLE_DEVICES", uuids), os.Setenv(lease.Variable, string(given.ID)))
}

// limit makes allocators reserve no more than most on each GPU of a lease: PyTorch's through the probe
// and, if the GPUs have the same memory, JAX's through the environment.
func (n *Needs) limit(p *command.Program, given *schema.Lease, most quantity.Bytes) error {
	name, least, total := "XLA_PYTHON_CLIENT_MEM_FRACTION", quantity.Bytes(math.MaxInt64), quantity.Bytes(0)
	if os.Getenv("XLA_CLIENT_MEM_FRACTION") != "" {
		name = "XLA_CLIENT_MEM_FRACTION" // with both set JAX ends (jaxlib/xla_client.py, 0.10.2)
	}
	for _, leased := range given.GPUs {
		capacity := quantity.Bytes(0)
		if g, instance := n.visible.Device(leased.UUID); instance != nil {
			capacity = instance.Memory.Capacity().Or(0)
		} else if g != nil {
			capacity = g.Memory.Capacity().Or(0)
		}
		least, total = min(least, capacity), max(total, capacity)
	}
	limited := "PyTorch, where its probe starts"
	set := os.Setenv("VRAMSCOPE_CAP", strconv.FormatInt(int64(most), 10))
	if least >= total-total/100 && total > 0 { // JAX takes one share for all GPUs
		limited += ", and JAX"
		share := min(float64(most)/float64(total), 1)
		if own, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
			share = min(share, own)
		}
		set = errors.Join(set, os.Setenv(name, fmt.Sprint(share)))
	}
	p.Warn("cap: at most %s on a GPU for %s; CUDA contexts and other libraries are not limited", most, limited)
	return set
}

// GPUsOf lists the GPUs of a lease, by UUID and by label, separated by commas.
func GPUsOf(l *schema.Lease) (uuids, labels string) {
	for i, g := range l.GPUs {
		separator := [...]string{"", ","}[min(i, 1)]
		uuids, labels = uuids+separator+g.UUID, labels+separator+string(g.GPU)
	}
	return uuids, labels
}
