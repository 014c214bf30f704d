package service

import (
	"sync"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/metric"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// recorder records from the moment at which it can: a directory that cannot be
// written to now may be later. It is a daemon.Recorder.
type recorder struct {
	open func() (*recording.Writer, error)
	now  func() time.Time

	mu      sync.Mutex
	writer  *recording.Writer // nil before it could be opened
	err     error             // why not
	retryAt time.Time
	counts  metric.Recorder // before there was a writer
}

// recordRetry is the time between attempts to begin.
const recordRetry = 10 * time.Second

func newRecorder(p *command.Program, s *config.Settings, directory string) *recorder {
	options := recording.Options{Keep: s.Keep, MaxSize: int64(s.MaxSize), Commands: recording.NameOnly}
	if s.Commands == "full" {
		options.Commands = recording.Full
	}
	r := &recorder{now: p.Now, open: func() (*recording.Writer, error) { return recording.Create(directory, options) }}
	r.tryOpen()
	return r
}

func (r *recorder) tryOpen() {
	if r.writer, r.err = r.open(); r.err != nil {
		r.counts.Errors++
	}
	r.retryAt = r.now().Add(recordRetry)
}

// Append implements daemon.Recorder. What cannot be recorded is a gap; Paused says why.
func (r *recorder) Append(snap *snapshot.Snapshot, events []snapshot.Event) error {
	r.mu.Lock()
	if r.writer == nil && !r.now().Before(r.retryAt) {
		r.tryOpen()
	}
	writer := r.writer
	if writer == nil {
		r.counts.Lost++
	}
	r.mu.Unlock()
	if writer == nil {
		return nil
	}
	return writer.Append(snap, events)
}

// Paused implements daemon.Recorder.
func (r *recorder) Paused() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer == nil {
		return r.err.Error()
	}
	if state := r.writer.State(); !state.Recording {
		return state.Reason
	}
	return ""
}

// Counts implements daemon.Recorder.
func (r *recorder) Counts() metric.Recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts
	if r.writer != nil {
		state := r.writer.State()
		counts.Errors, counts.Lost, counts.Written = counts.Errors+state.Errors, counts.Lost+state.Lost, state.Written
	}
	return counts
}

// Close implements daemon.Recorder.
func (r *recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer == nil {
		return nil
	}
	return r.writer.Close()
}

// longPast is what a daemon, or the one before it, has recorded: its clients can ask
// for it. They wait for the disk; the sampler does not.
type longPast struct {
	directory string
	now       func() time.Time

	mu      sync.Mutex
	opened  *recording.Recording // nil until there is something to read
	retryAt time.Time
}

// before is what was recorded; nil where nothing was yet.
func (p *longPast) before() snapshot.History {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); p.opened == nil && !now.Before(p.retryAt) {
		p.opened, _ = recording.Open(p.directory) // the recorder says what is wrong with it
		p.retryAt = now.Add(time.Minute)
	}
	if p.opened == nil {
		return nil
	}
	return p.opened
}
