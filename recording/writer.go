package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// Options are a Writer's settings. The zero value means the defaults.
type Options struct {
	Keep    time.Duration // how long a day is kept; 0 means 30 days
	MaxSize int64         // of all databases, in bytes; 0 means 4 GiB
	// FullCommands records command lines with their arguments, which can hold secrets. Without it,
	// only the program and its script or module are recorded.
	FullCommands bool
}

const (
	// commitInterval is the time between two commits. A kill loses what is not committed.
	commitInterval = 2 * time.Second
	// queueTicks limits the memory that the queue takes when the disk is slow: a snapshot of 16
	// GPUs with 64 processes each takes 1.5 MB.
	queueTicks = 30
	// retryInterval is the time between attempts to resume after a failure.
	retryInterval = 5 * time.Second
)

// Writer records snapshots into a folder. One goroutine appends; any may call State.
type Writer struct {
	directory string
	options   Options
	lock      *os.File
	queue     chan tick
	done      chan struct{}
	err       error // the error of closing

	// Used by the writing goroutine only.
	day     *day
	pending int // ticks that are not committed
	pruned  time.Time
	retryAt time.Time
	retry   time.Duration

	mu    sync.Mutex
	state State
}

type tick struct {
	snap   *snapshot.Snapshot
	events []snapshot.Event
}

// State has a Writer's counts, and why it is paused.
type State struct {
	metric.Recorder
	Ticks int64 // ticks of this writer that are on disk
}

// Start starts a recording into a folder, which it makes if missing. While the folder cannot be
// written, or another process records there, the recording is paused.
func Start(directory string, options Options) *Writer {
	w, err := newWriter(directory, options)
	if err != nil {
		w.fail(err)
	}
	go w.run()
	return w
}

// newWriter returns a writer even with an error, which says why the folder cannot be used yet.
func newWriter(directory string, options Options) (*Writer, error) {
	options.Keep = cmp.Or(max(options.Keep, 0), 30*24*time.Hour)
	options.MaxSize = cmp.Or(max(options.MaxSize, 0), 4<<30)
	w := &Writer{
		directory: directory, options: options,
		queue: make(chan tick, queueTicks), done: make(chan struct{}), retry: retryInterval,
	}
	return w, w.take()
}

// take makes the folder, takes its lock, and checks that a file can be created in it.
func (w *Writer) take() error {
	if err := makeFolder(w.directory); err != nil {
		return err
	}
	lock, err := lockFolder(w.directory)
	if err != nil {
		return err
	}
	probe, err := os.CreateTemp(w.directory, ".write-*")
	if err != nil {
		_ = lock.Close() // nothing was written
		return fmt.Errorf("recording: %w", err)
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	_ = w.lock.Close() // the previous lock is nil, or its file was removed
	w.lock = lock
	return nil
}

// Append queues a tick, with the events since the previous one. It never waits: if the disk is too
// slow, the tick is lost, and State counts it. The snapshot must not be changed after this.
func (w *Writer) Append(snap *snapshot.Snapshot, events []snapshot.Event) error {
	select {
	case w.queue <- tick{snap, events}:
		return nil
	default:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.state.Lost++
		return fmt.Errorf("recording: %s: the disk is too slow: %d ticks wait", w.directory, queueTicks)
	}
}

func (w *Writer) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Counts returns the failures since the start, and why nothing is recorded at present.
func (w *Writer) Counts() metric.Recorder { return w.State().Recorder }

// Close writes what was appended and ends the recording. Append must not be called after Close.
func (w *Writer) Close() error {
	close(w.queue)
	<-w.done
	return w.err
}

func (w *Writer) run() {
	defer close(w.done)
	timer := time.NewTicker(commitInterval)
	defer timer.Stop()
	for {
		select {
		case t, more := <-w.queue:
			if !more {
				w.err = w.end()
				return
			}
			w.write(t)
		case <-timer.C:
			w.commit()
		}
	}
}

func (w *Writer) write(t tick) {
	now := time.Now()
	if w.day == nil && now.Before(w.retryAt) {
		w.lose(1)
		return
	}
	before := w.day
	if before != nil && filepath.Base(before.path) != fileOf(t.snap.Time) {
		if err := before.close(); err != nil {
			w.lose(int64(w.pending))
			w.fail(err)
		} else {
			w.committed()
		}
		w.day = nil
	}
	if w.day == nil {
		w.prune(t.snap.Time)
		day, err := w.open(t.snap.Time)
		if err != nil && damaged(err) {
			setAside(filepath.Join(w.directory, fileOf(t.snap.Time)))
			day, err = openDay(w.directory, t.snap.Time, w.options.FullCommands)
		}
		if err != nil {
			w.lose(1)
			w.fail(err)
			return
		}
		if before != nil {
			day.last, day.divider = before.last, before.divider
		}
		w.day = day
	}
	w.day.write(t.snap, t.events)
	w.pending++
	if w.day.block.n == 1 { // a block has begun
		w.day.trim(w.options.MaxSize)
	}
	if t.snap.Interval >= commitInterval {
		w.commit()
	} else if w.day.err != nil {
		w.drop(w.day.err)
	}
}

// open opens a day. It takes the folder first if the writer does not hold the folder's lock.
func (w *Writer) open(at time.Time) (*day, error) {
	if !w.holds() {
		if err := w.take(); err != nil {
			return nil, err
		}
	}
	return openDay(w.directory, at, w.options.FullCommands)
}

func (w *Writer) holds() bool {
	if w.lock == nil {
		return false
	}
	held, err := w.lock.Stat()
	there, missing := os.Stat(w.lock.Name())
	return err != nil || !errors.Is(missing, fs.ErrNotExist) && (missing != nil || os.SameFile(held, there))
}

func (w *Writer) commit() {
	if w.pending == 0 {
		return
	}
	err := w.day.commit()
	if _, missing := os.Stat(w.day.path); err == nil && errors.Is(missing, fs.ErrNotExist) {
		err = fmt.Errorf("recording: %w", missing) // SQLite would go on writing into the removed file
	}
	if err != nil {
		w.drop(err)
		return
	}
	w.committed()
	if now := time.Now(); now.Sub(w.pruned) > time.Hour {
		w.prune(now)
	}
}

func (w *Writer) committed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Paused, w.state.Reason = false, ""
	w.state.Ticks += int64(w.pending)
	w.state.Written = time.Now()
	w.pending = 0
}

// drop closes a day that cannot be written. Committed data is safe. The next attempt opens the
// database again or, if it is damaged, a new one.
func (w *Writer) drop(err error) {
	w.lose(int64(w.pending))
	_ = w.day.database.close() // err has the reason
	if damaged(err) {
		setAside(w.day.path)
	}
	w.day = nil
	w.fail(err)
}

func (w *Writer) lose(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Lost += n
	w.pending = 0
}

// fail pauses the recording.
func (w *Writer) fail(err error) {
	w.retryAt = time.Now().Add(w.retry)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Paused, w.state.Reason = true, reasonOf(err)
	w.state.Errors++
}

func (w *Writer) end() error {
	var err error
	if w.day != nil {
		if err = w.day.close(); err == nil {
			w.committed()
		}
		w.day = nil
	}
	_ = w.lock.Close() // releases the lock
	return err
}
