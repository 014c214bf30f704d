package sampler

import (
	"strings"
	"testing"

	"vramscope/internal/process"
)

// TestRelayedReportsAreHeldAgainstTheDriver: what a daemon passes on is checked as
// a probe's own report, and is of the process with that identity alone. The user
// of this monitor may not read the pid namespaces of others.
func TestRelayedReportsAreHeldAgainstTheDriver(t *testing.T) {
	for _, c := range []struct {
		name, device string
		identity     func(*process.Identity) // as the daemon has it
		rejected     string
		shown        bool
	}{
		{"possible", `"allocators":[{"kind":"x","reserved_bytes":8589934592,"allocated_bytes":1073741824,"cached_bytes":7516192768,"fragmented_bytes":0}]`, nil, "", true},
		{"impossible", `"allocators":[{"kind":"x","reserved_bytes":21474836480}]`, nil, "reports 20.0G, the driver 10.0G", false},
		{"another process", `"allocators":[{"kind":"x","reserved_bytes":1073741824}]`, func(id *process.Identity) { id.StartTime++ }, "", false},
		{"another namespace", `"allocators":[{"kind":"x","reserved_bytes":1073741824}]`, func(id *process.Identity) { id.Namespace = 9 }, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(1)
			if c.name != "another namespace" {
				unreadable := b.processes[100]
				unreadable.Identity.Namespace = 0
				b.processes[100] = unreadable
			}
			s := b.sampler()
			a := b.says(t, 100, `{"uuid":"GPU-0",`+c.device+`}`)
			a.Daemon, a.Process.Namespace = true, 1
			if c.identity != nil {
				c.identity(&a.Process)
			}
			snap := b.judge(s)
			if len(snap.Rows) != 1 {
				t.Fatalf("%d rows", len(snap.Rows))
			}
			p := &snap.Rows[0]
			switch {
			case c.shown && (p.Probe == nil || !p.Probe.ByDaemon || p.Cached.Or(0) != 7<<30):
				t.Errorf("not shown: %+v, cached %v", p.Probe, p.Cached)
			case !c.shown && p.Cached.Known():
				t.Errorf("shown: %v", p.Cached)
			case c.rejected != "" && (p.Probe == nil || !strings.Contains(p.Probe.Rejected, c.rejected)):
				t.Errorf("rejected: %+v", p.Probe)
			}
		})
	}
}
