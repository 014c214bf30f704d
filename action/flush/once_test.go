package flush

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/server"
)

// TestServersAreAskedOnceAtATime: of two requests at once, one is refused.
func TestServersAreAskedOnceAtATime(t *testing.T) {
	t.Setenv("VRAMSCOPE_TEST_KEY", "secret-1234")
	for _, kind := range []string{"vllm", "sglang", "paths"} {
		s, f := newStandIn(t, kind, "slow")
		r := Request{Process: s.id, Level: Sleep, Origin: action.Command("flush")}
		var meanwhile error
		first := r
		first.Progress = func(Result) { _, meanwhile = f.Run(t.Context(), r) }
		if _, err := f.Run(t.Context(), first); err != nil || !action.Refused(meanwhile) || !strings.Contains(meanwhile.Error(), "is being asked already") {
			t.Errorf("%s: %v; meanwhile: %v", kind, err, meanwhile)
		}
		if _, err := f.Run(t.Context(), r); err != nil && strings.Contains(err.Error(), "is being asked already") {
			t.Errorf("%s: it can never be asked again: %v", kind, err)
		}
		other := exec.Command("flock", fmt.Sprintf("/proc/%d/environ", os.Getpid()), "sh", "-c", "echo locked; cat")
		in, err := other.StdinPipe()
		out, failed := other.StdoutPipe()
		if err = errors.Join(err, failed, other.Start()); err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 8)) // the process has the lock
		if _, err := f.Run(t.Context(), r); !action.Refused(err) || !strings.Contains(err.Error(), "is being asked already") {
			t.Errorf("%s: it is asked while another program asks: %v", kind, err)
		}
		if err := errors.Join(in.Close(), other.Wait()); err != nil {
			t.Error(err)
		}
	}
}

// TestRoomIsHeldWhoeverAsks: the freed room is held for as long as the configuration or the request
// says, until the server is woken.
func TestRoomIsHeldWhoeverAsks(t *testing.T) {
	t.Setenv("VRAMSCOPE_TEST_KEY", "secret-1234")
	for name, c := range map[string]struct {
		kind, fault     string
		configured, own time.Duration
		want            []time.Duration
		note            string
	}{
		"the configuration": {"paths", "", time.Hour, 0, []time.Duration{time.Hour, 0}, "held"},
		"the request":       {"paths", "", time.Hour, time.Minute, []time.Duration{time.Minute, 0}, "held"},
		"neither":           {"paths", "", 0, 0, []time.Duration{0}, ""},
		"nothing freed":     {"paths", "liar", time.Hour, 0, []time.Duration{0}, "its room is not held"},
		"nothing wakes it":  {"comfyui", "", time.Hour, 0, nil, "nothing would end the lease"},
	} {
		s, f := newStandIn(t, c.kind, c.fault)
		find := f.Servers
		f.Servers = func(id process.Identity) (*server.Server, error) {
			found, err := find(id)
			if err == nil {
				found.Hold = c.configured
			}
			return found, err
		}
		var asked []time.Duration
		f.Hold = func(_ context.Context, _ *server.Server, _ *Result, ttl time.Duration) []string {
			asked = append(asked, ttl)
			return []string{"held"}
		}
		slept, err := f.Run(t.Context(), Request{Process: s.id, Level: Sleep, Hold: c.own, Origin: action.Policy("rule")})
		woke, failed := f.Run(t.Context(), Request{Process: s.id, Level: Wake, Origin: action.Command("monitor")})
		if err != nil || (failed != nil) != (c.kind == "comfyui") || !strings.Contains(strings.Join(slept.Notes, " "), c.note) || c.note == "" && len(slept.Notes) > 0 {
			t.Errorf("%s: %q, %v; %s, %v", name, slept.Notes, err, woke.Outcome(), failed)
		}
		if c.fault == "" && !slices.Equal(asked, c.want) || c.fault != "" && slices.Contains(asked, c.configured) {
			t.Errorf("%s: asked to hold for %v", name, asked)
		}
	}
}
