package sources

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"vramscope/cli/command"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/recording"
)

// Recording is a recording that a command reads.
type Recording struct {
	*recording.Recording
	Where   string // the file or directory
	program *command.Program
}

// OpenRecording opens the named file or directory or, without one, this user's recordings; with --demo,
// those of the simulated box.
func OpenRecording(p *command.Program, named ...string) (*Recording, error) {
	path := cmp.Or(named...)
	where := cmp.Or(path, p.RecordingsOf(p.Flags.Demo))
	r, err := recording.Open(where)
	if err != nil {
		return nil, noRecording(err, where, path == "")
	}
	return &Recording{r, where, p}, nil
}

// noRecording returns the failure to open a recording, and says what to do.
func noRecording(err error, where string, own bool) error {
	f := command.Failed(err)
	switch {
	case errors.Is(err, recording.ErrForeign):
		return f.Then("  vramscope daemon --record   makes recordings; docs/recording.md has their format")
	case errors.Is(err, fs.ErrPermission):
		return f.Then("  a recording can be read by the user who made it, and by root")
	case errors.Is(err, fs.ErrNotExist) && !own:
		f.Message = text.Clean(where) + ": there is no such file or directory"
		return f
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, recording.ErrEmpty):
		f.Message = "there is no recording in " + text.Clean(where)
	}
	if !errors.Is(err, recording.ErrOlder) && !errors.Is(err, recording.ErrNewer) {
		f = f.Then("  vramscope daemon --record   records from now on")
	}
	if !own {
		return f
	}
	f = f.Then("  FILE or DIR                 reads another recording")
	if r, err := recording.Open(filepath.Join(where, "simulated")); err == nil {
		_ = r.Close() // nothing was written
		f = f.Then("  --demo                      reads that of the simulated box")
	}
	return f
}

// Close warns of the days that could not be read, and closes the recording.
func (r *Recording) Close() {
	for _, problem := range r.Problems() {
		r.program.Warn("%s", problem)
	}
	_ = r.Recording.Close() // nothing was written
}

// Moment parses the value of a flag as a time within the recording.
func (r *Recording) Moment(flag, value string) (time.Time, error) {
	oldest, newest := r.Span()
	if newest.IsZero() {
		return newest, command.Fail("%s: nothing is recorded in it yet", text.Clean(r.Where))
	}
	t, err := quantity.ParseMoment(value, newest.Local())
	if err != nil {
		return t, command.Usage("--%s: %v", flag, err)
	}
	// Users type whole minutes, and the recording can begin within one.
	if t.Before(oldest.Truncate(time.Minute)) || t.After(newest) {
		return t, command.Fail("--%s %s: nothing is recorded of that time", flag, text.Clean(value)).
			Then(fmt.Sprintf("  %s has %s to %s", text.Clean(r.Where), oldest.Local().Format(time.DateTime), newest.Local().Format(time.DateTime)))
	}
	return quantity.Later(t, oldest), nil
}

// MomentOr returns Moment, or fallback if value is "".
func (r *Recording) MomentOr(flag, value string, fallback time.Time) (time.Time, error) {
	if value == "" {
		return fallback, nil
	}
	return r.Moment(flag, value)
}

// Between returns the times of --from and --to, or else of the whole recording.
func (r *Recording) Between(from, to string) (begin, end time.Time, err error) {
	oldest, newest := r.Span()
	if end, err = r.MomentOr("to", to, newest.Add(1)); err != nil {
		return begin, end, err
	}
	if begin, err = r.MomentOr("from", from, oldest); err == nil && !begin.Before(end) {
		err = command.Usage("--from is not before --to")
	}
	return begin, end, err
}
