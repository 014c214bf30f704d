package doctor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"vramscope/cli/command"
	"vramscope/daemon/socket"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// processes reports what vramscope can read about processes and do to them.
func (b *Box) processes() []finding {
	var found []finding
	if b.Snapshot.Driver.State == snapshot.DriverOK && len(b.Snapshot.GPUs) > 0 {
		found = append(found, b.perProcess(), b.visibility())
	}
	if b.Table == nil {
		return found // a simulated box: this machine's /proc has nothing to do with it
	}
	return append(found, b.container(), procRights(), signals(), b.auditLog())
}

// perProcess reports whether the driver reports the memory of each process.
func (b *Box) perProcess() finding {
	reported := 0
	for i := range b.Snapshot.Rows {
		if b.Snapshot.Rows[i].Used.Known() {
			reported++
		}
	}
	const what = "memory of each"
	used := slices.ContainsFunc(b.Snapshot.GPUs, func(g snapshot.GPU) bool { return g.Memory.Used.Or(0) >= quantity.GiB })
	switch all := len(b.Snapshot.Rows); {
	case all == 0 && used:
		return finding{fails, what, "GPU memory is used, but the driver lists no process",
			[]string{"in a container    start it with --pid=host (Kubernetes: hostPID: true)"}}
	case all == 0:
		return finding{neither, what, "no process is on a GPU now", nil}
	case reported == all:
		return finding{works, what, fmt.Sprintf("reported for all %d", all), nil}
	default:
		return finding{fails, what, fmt.Sprintf("reported for %d of %d", reported, all), []string{
			"why               WSL, containers, and some drivers do not report it for other users' processes", "what remains      a GPU's line shows what is unattributed"}}
	}
}

// visibility reports whether the driver's pids are valid in this /proc.
func (b *Box) visibility() finding {
	foreign, hidden := 0, 0
	for i := range b.Snapshot.Rows {
		switch id := b.Snapshot.Rows[i].ID.Process; {
		case id.Hidden():
			hidden++
		case id.Foreign():
			foreign++
		}
	}
	const what = "who they are"
	switch all := len(b.Snapshot.Rows); {
	case all == 0:
		return finding{neither, what, "no process is on a GPU now", nil}
	case foreign+hidden == 0:
		return finding{works, what, "all PIDs are in this /proc", nil}
	case foreign == 0:
		return finding{fails, what, fmt.Sprintf("%d of %d PIDs hidden (hidepid): other users' processes", hidden, all), nil}
	default:
		verb := map[bool]string{true: "is", false: "are"}[foreign == 1]
		return finding{fails, what, fmt.Sprintf("%d of %d PIDs %s outside this /proc: processes of another container", foreign, all, verb),
			[]string{"to see them       run vramscope on the host, or in a container with --pid=host"}}
	}
}

// initPIDNamespace is the inode of the machine's own pid namespace.
// Source: PROC_PID_INIT_INO in include/linux/proc_ns.h.
const initPIDNamespace = 0xEFFFFFFC

// container reports whether vramscope runs in a container, which hides processes.
func (b *Box) container() finding {
	f := finding{verdict: neither, what: "container"}
	self, err := b.Table.Look(os.Getpid())
	switch {
	case err != nil:
		f.verdict, f.text = fails, "/proc does not show this process: is it mounted?"
	case self.Identity.Namespace == initPIDNamespace:
		f.text = "none: all PIDs of this machine are visible"
	case self.Identity.Namespace == 0:
		f.text = "unknown: /proc/self/ns/pid cannot be read"
	default:
		f.text = "yes: only its own PIDs are visible"
	}
	if f.verdict != fails && self.Job.String() != "" {
		f.text += " (" + text.Clean(self.Job.String()) + ")"
	}
	return f
}

// procRights reports how much of other users' processes can be read.
func procRights() finding {
	_, hidden := os.Stat("/proc/1/stat")
	_, link := os.Readlink("/proc/1/ns/pid")
	switch {
	case hidden != nil:
		return finding{fails, "/proc", "other users' processes are hidden (hidepid)",
			[]string{"to see them       run as root, or in the group that /proc is mounted for (gid=)"}}
	case link != nil && os.Geteuid() != 0:
		return finding{works, "/proc", "command and user of all processes readable; environment and signals of your own only", nil}
	default:
		return finding{works, "/proc", "all processes readable", nil}
	}
}

// signals reports whether a process can be signalled safely.
func signals() finding {
	if err := process.CanSignal(); err != nil {
		return finding{verdict: fails, what: "signals", text: "no pidfds (they need Linux 5.3 and a sandbox that permits them): the key x is refused"}
	}
	return finding{verdict: works, what: "signals", text: "through pidfds: they cannot reach another process"}
}

// auditLog reports whether actions can be logged: an action that cannot be logged is refused.
func (b *Box) auditLog() finding {
	if err := b.Log.Check(); err != nil {
		return finding{verdict: fails, what: "audit log", text: text.Clean(err.Error()), next: []string{
			"what to do        mend that, or set XDG_STATE_HOME to a directory that only you can write",
			"until then        F, a and x are refused, and so are vramscope flush and attach"}}
	}
	return finding{verdict: works, what: "audit log", text: text.Clean(b.Log.Path())}
}

// terminal reports whether the screen can be drawn here, and with which colours and characters.
func (b *Box) terminal() []finding {
	if !command.IsTerminal(b.Program.Stdout) {
		return []finding{{verdict: neither, what: "terminal", text: "standard output is not a terminal: the monitor would write one table and end"}}
	}
	kind := text.Clean(b.Program.Getenv("TERM"))
	screen := finding{verdict: works, what: "terminal"}
	switch width, height, err := term.GetSize(int(b.Program.Stdout.Fd())); {
	case !b.Program.HasScreen():
		screen.verdict, screen.text = neither, fmt.Sprintf("TERM=%q cannot move its cursor: the monitor would write one table and end", kind)
	case err != nil:
		screen.verdict, screen.text = fails, kind+", of unknown size"
	case width < 30 || height < 3:
		screen.verdict, screen.text = fails, fmt.Sprintf("%s, %d×%d: vramscope needs 30×3", kind, width, height)
	default:
		screen.text = fmt.Sprintf("%s, %d×%d", kind, width, height)
	}
	characters := finding{works, "characters", "UTF-8", nil}
	if !text.UTF8(b.Program.Getenv) {
		characters = finding{neither, "characters", "the locale is not UTF-8: ASCII only", []string{"if it is          export LC_ALL=C.UTF-8"}}
	}
	return []finding{screen, b.colours(), characters}
}

func (b *Box) colours() finding {
	if b.Program.Getenv("NO_COLOR") != "" {
		return finding{neither, "colours", "NO_COLOR is set: none", nil}
	}
	profile := colorprofile.Env(os.Environ())
	depth := map[colorprofile.Profile]string{colorprofile.TrueColor: "24 bit", colorprofile.ANSI256: "256", colorprofile.ANSI: "16"}[profile]
	if depth == "" {
		return finding{neither, "colours", "none: " + strings.ToLower(profile.String()), nil}
	}
	return finding{works, "colours", depth, nil}
}

// daemon reports whether a daemon answers, and what it shares with this user.
func (b *Box) daemon() []finding {
	if b.Table == nil {
		return nil // a simulated box has none
	}
	client, err := b.Daemon.Client()
	if client == nil {
		f := finding{verdict: neither, what: "daemon", text: "none runs: history begins when vramscope starts"}
		if err != nil && !socket.Absent(err) {
			f.verdict, f.text = fails, text.Clean(err.Error())
		}
		return []finding{f}
	}
	d := client.Status()
	f := finding{verdict: works, what: "daemon", text: fmt.Sprintf("%s answers: PID %d", whose(d.UID), d.PID)}
	if since := time.Time(d.Since); !since.IsZero() {
		f.text += ", since " + since.Local().Format(time.DateTime)
	}
	switch {
	case d.Simulated:
		f.verdict, f.text = neither, f.text+"; a simulated box: not used"
	case d.View == socket.ViewNumbers:
		f.text += "; it shares numbers, also of other users' processes"
	}
	found := []finding{f}
	if d.Recording == "paused" {
		found = append(found, finding{verdict: fails, what: "recording", text: "paused: " + d.Reason})
	}
	if g := b.Daemon.Guard(); g != nil && g.Cannot != "" {
		found = append(found, finding{verdict: fails, what: "guard", text: "the daemon's cannot act: " + g.Cannot})
	}
	return found
}

func whose(uid int) string {
	if uid == 0 {
		return "root's"
	}
	return "your own"
}
