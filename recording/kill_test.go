package recording

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// killedVariable makes the test binary a writer that the test kills. Its value is the folder.
const killedVariable = "VRAMSCOPE_RECORDING_KILLED"

func TestMain(m *testing.M) {
	if directory := os.Getenv(killedVariable); directory != "" {
		recordUntilKilled(directory)
	}
	os.Exit(m.Run())
}

// recordUntilKilled appends a tick every 10 ms of real time, and prints the tick's time.
func recordUntilKilled(directory string) {
	w, err := Create(directory, Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	box := newSynthetic(2, 4)
	for {
		box.now = time.Now().Add(-time.Second)
		snap := box.after(time.Second)
		if err := w.Append(snap, nil); err != nil {
			continue // the tick was not queued
		}
		fmt.Println(snap.Time.UnixNano())
		time.Sleep(10 * time.Millisecond)
	}
}

// TestKilledWriterLosesTwoSeconds kills writers at random moments. The recording that a killed
// writer leaves opens without an error and ends at most two seconds before the kill, or four if a
// commit is slow. The next writer continues it. With VRAMSCOPE_FULL there are 200 kills.
func TestKilledWriterLosesTwoSeconds(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rounds, writers := 1, 4
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		rounds = 50
	}
	folders := make([]string, writers)
	for i := range folders {
		folders[i] = t.TempDir()
	}
	var worst time.Duration
	var mu sync.Mutex
	for range rounds {
		var all sync.WaitGroup
		for _, directory := range folders {
			all.Go(func() {
				lost := killOne(t, directory)
				mu.Lock()
				defer mu.Unlock()
				worst = max(worst, lost)
			})
		}
		all.Wait()
	}
	t.Logf("%d kills: at most %v were lost", rounds*writers, worst)
}

// killOne lets a writer record into a folder, kills it, and returns the time that was lost.
func killOne(t *testing.T, directory string) time.Duration {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), killedVariable+"="+directory)
	out, err := child.StdoutPipe()
	if err != nil || child.Start() != nil {
		t.Error("the writer does not start")
		return 0
	}
	began, life := time.Now(), time.Duration(rand.Int64N(int64(4*time.Second)))
	var first, last int64
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		at, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Errorf("the writer: %s", lines.Text())
		}
		if first == 0 {
			first = at
		}
		last = at
		if time.Since(began) > life {
			_ = child.Process.Kill() // the loop ends with the pipe
		}
	}
	_ = child.Wait() // the child was killed
	r, err := Open(directory)
	if err != nil {
		if time.Duration(last-first) > commitInterval+time.Second {
			t.Errorf("after %v: %v", time.Duration(last-first), err)
		}
		return 0 // the child had not committed anything yet
	}
	defer func() { _ = r.Close() }()
	_, newest := r.Span()
	lost := time.Duration(last - max(newest.UnixNano(), first))
	// Two seconds are for the commit itself, which is slow on a busy machine.
	if lost > commitInterval+2*time.Second {
		t.Errorf("%v were lost", lost)
	}
	if then, ok := r.At(newest); !newest.IsZero() && (!ok || len(then.Rows) != 8) {
		t.Errorf("at %v: %v, %+v", newest, ok, then)
	}
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
	return lost
}
