package flush

import (
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
	}
}
