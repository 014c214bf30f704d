package actions

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestDraftReplacesNoNewerFile: if two drafts with the same target are finished at once, one gets the name.
func TestDraftReplacesNoNewerFile(t *testing.T) {
	for range 200 {
		target := filepath.Join(t.TempDir(), "job.pickle")
		var begin, done sync.WaitGroup
		var errs [2]error
		begin.Add(1)
		for i := range errs {
			d, err := newDraft(target, false)
			if err != nil {
				t.Fatal(err)
			}
			done.Go(func() {
				begin.Wait()
				errs[i] = d.finish(t.Context(), io.Discard)
				d.discard()
			})
		}
		begin.Done()
		done.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v, %v", errs[0], errs[1])
		}
		left, err := os.ReadDir(filepath.Dir(target))
		if err != nil || len(left) != 1 {
			t.Fatalf("there are %v, %v", left, err)
		}
	}
}
