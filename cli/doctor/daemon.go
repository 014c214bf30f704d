package doctor

import (
	"fmt"
	"time"

	"vramscope/daemon/socket"
	"vramscope/internal/text"
)

// daemon is whether one answers, and of what use it is here.
func (b *Box) daemon() []finding {
	if b.Table == nil {
		return nil // a simulated box has none
	}
	if b.Daemon == nil {
		f := finding{verdict: neither, what: "daemon", text: "none runs: history begins when vramscope starts"}
		if b.NoDaemon != nil && !socket.Absent(b.NoDaemon) {
			f.verdict, f.text = fails, text.Clean(b.NoDaemon.Error())
		}
		return []finding{f}
	}
	d := b.Daemon
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
	if b.Guard != nil && b.Guard.Cannot != "" {
		found = append(found, finding{verdict: fails, what: "guard", text: "the daemon's cannot act: " + b.Guard.Cannot})
	}
	return found
}

func whose(uid int) string {
	if uid == 0 {
		return "root's"
	}
	return "your own"
}
