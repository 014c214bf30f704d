package socket

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"vramscope/probe"
)

// TestRefused: an answer that there is nothing is one; a connection that breaks is none.
func TestRefused(t *testing.T) {
	no := &probe.Error{Code: probe.Forbidden}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("daemon: %w", no), true},
		{fmt.Errorf("daemon: %w: %w", ErrBroken, no), false},
		{fmt.Errorf("daemon: %w", ErrBroken), false},
		{errors.New("another"), false},
	} {
		if got := refused(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// TestAnswersAreLimited: by members before they are decoded, and by the items of each list.
func TestAnswersAreLimited(t *testing.T) {
	list := func(name, item string, n int) string {
		return `{"` + name + `":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]}"
	}
	for _, c := range []struct {
		line string
		want string
	}{
		{list("processes", "{}", maxProcesses), ""},
		{list("processes", "{}", maxProcesses+1), "too many items"},
		{list("points", "null", maxBuckets), ""},
		{list("points", "null", maxBuckets+1), "too many items"},
		{list("events", "{}", maxEvents), ""},
		{list("events", "{}", maxEvents+1), "too many items"},
		{list("unknown", "0", maxMembers+1), ""},
		{list("unknown", "0", maxMembers+2), "members in one line"},
	} {
		if err := decode([]byte(c.line), new(answer)); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20s…: %v, want %q", c.line, err, c.want)
		}
	}
}
