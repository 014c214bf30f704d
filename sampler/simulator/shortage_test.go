package simulator

import (
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

// The training fails and ends, unless it tries again after the notebook has freed its cache. A second
// failure is final.
func TestShortage(t *testing.T) {
	for name, rescue := range map[string]func(*Box, process.Identity) bool{
		"none":     nil,
		"by flush": func(b *Box, id process.Identity) bool { b.mustFlush(t); return b.Retry(id) },
		"in vain":  func(b *Box, id process.Identity) bool { return b.Retry(id) },
	} {
		now := time.Unix(1e9, 0)
		var asked []process.Identity
		o := Options{Clock: func() time.Time { return now }, Shortage: true, Prelude: time.Minute}
		if rescue != nil {
			o.Rescue = func(id process.Identity, gpu string, size quantity.Bytes) {
				if asked = append(asked, id); gpu == "" || size != 10080*mib+512 && size.String() != "10.1G" {
					t.Errorf("%s: %q asks for %s", name, gpu, size)
				}
			}
		}
		b := New(o)
		pass := func(d time.Duration) {
			for range d / step {
				now = now.Add(step)
				b.Answers()
			}
		}
		pass(time.Minute + 12*time.Second)
		lives := len(b.inOrder()) == 2
		switch {
		case rescue == nil && (lives || len(asked) > 0):
			t.Error("the training lives without a rescue")
		case rescue != nil && (!lives || len(asked) != 1):
			t.Fatalf("%s: the training lives: %v, asked %d times", name, lives, len(asked))
		case rescue == nil:
			continue
		}
		succeeded := rescue(b, asked[0])
		pass(5 * time.Second)
		stats, lives := b.inOrder(), len(b.inOrder()) == 2
		if want := name == "by flush"; succeeded != want || lives != want || len(asked) != 1 {
			t.Errorf("%s: succeeded %v, lives %v, asked %d times", name, succeeded, lives, len(asked))
		} else if want && stats[1].cache.Stats().OutOfMemory+len(stats[1].failures) > 0 {
			t.Errorf("a rescued allocation counts as a failure: %+v", stats[1].failures)
		}
	}
}

// mustFlush flushes the first process, which is the notebook.
func (b *Box) mustFlush(t *testing.T) {
	t.Helper()
	if f, err := b.Flush(b.inOrder()[0].identity, false); err != nil || f.FreedBytes != 22*gib {
		t.Fatalf("%+v: %v", f, err)
	}
}
