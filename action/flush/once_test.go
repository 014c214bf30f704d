package flush

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"vramscope/action"
)

// TestServersAreAskedOnceAtATime: by two at once, of whom one is refused.
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
		other := exec.Command("flock", "/proc/"+strconv.Itoa(os.Getpid()), "sh", "-c", "echo locked; cat")
		in, err := other.StdinPipe()
		out, failed := other.StdoutPipe()
		if err = errors.Join(err, failed, other.Start()); err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 8)) // it has the lock
		if _, err := f.Run(t.Context(), r); !action.Refused(err) || !strings.Contains(err.Error(), "is being asked already") {
			t.Errorf("%s: it is asked while another program asks: %v", kind, err)
		}
		if err := errors.Join(in.Close(), other.Wait()); err != nil {
			t.Error(err)
		}
	}
}
