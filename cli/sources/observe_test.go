package sources

import (
	"context"
	"errors"
	"testing"
	"time"

	"vramscope/sampler"
)

// TestCancelledWatch ends with what ended it, not with a picture.
func TestCancelledWatch(t *testing.T) {
	src, _ := demoSources(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	snap, err := src.Observe(ctx, sampler.New(src.Options), time.Hour)
	if snap != nil || err == nil || err.Error() != "enough" {
		t.Errorf("got %v, %v", snap, err)
	}
}
