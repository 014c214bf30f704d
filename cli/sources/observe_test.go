package sources

import (
	"context"
	"errors"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/sampler"
)

// TestCancelledWatch ends with what ended it, not with a picture.
func TestCancelledWatch(t *testing.T) {
	p := &command.Program{Now: time.Now}
	p.Flags.Demo = true
	s := config.Defaults()
	src, err := OpenWith(p, &s, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	snap, err := src.Observe(ctx, sampler.New(src.Options), time.Hour)
	if snap != nil || err == nil || err.Error() != "enough" {
		t.Errorf("got %v, %v", snap, err)
	}
}
