package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/recording"
)

// openRecording opens the file or directory that the arguments name, or this user's
// recordings; with --demo, those of the simulated box.
func (p *program) openRecording(args []string) (r *recording.Recording, where string, err error) {
	where = p.recordingsOf(p.flags.demo)
	if len(args) > 0 {
		where = args[0]
	}
	if r, err = recording.Open(where); err == nil {
		return r, where, nil
	}
	return nil, where, p.noRecording(err, where, len(args) == 0)
}

// noRecording is the failure to open a recording, with what to do.
func (p *program) noRecording(err error, where string, own bool) error {
	f := &failure{code: exitFailure, err: err, message: text.Clean(err.Error())}
	switch {
	case errors.Is(err, recording.ErrForeign):
		f.advice = []string{"  vramscope daemon --record   makes recordings; docs/recording.md has their format"}
		return f
	case errors.Is(err, fs.ErrPermission):
		f.advice = []string{"  a recording can be read by the user who made it, and by root"}
		return f
	case errors.Is(err, fs.ErrNotExist) && !own:
		f.message = text.Clean(where) + ": there is no such file or directory"
		return f
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, recording.ErrEmpty):
		f.message = "there is no recording in " + text.Clean(where)
	}
	f.advice = []string{"  vramscope daemon --record   records from now on"}
	if !own {
		return f
	}
	f.advice = append(f.advice, "  FILE or DIR                 reads another recording")
	if r, err := recording.Open(filepath.Join(where, "simulated")); err == nil {
		_ = r.Close() // nothing was written
		f.advice = append(f.advice, "  --demo                      reads that of the simulated box")
	}
	return f
}

// closeRecording closes a recording, and warns of the days that could not be read.
func (p *program) closeRecording(r *recording.Recording) {
	for _, problem := range r.Problems() {
		p.warn("%s", problem)
	}
	_ = r.Close() // nothing was written
}

// momentOf reads the value of a flag as a moment of a recording.
func momentOf(r *recording.Recording, where, flag, value string) (time.Time, error) {
	oldest, newest := r.Span()
	if newest.IsZero() {
		return newest, &failure{code: exitFailure, message: text.Clean(where) + ": nothing is recorded in it yet"}
	}
	t, err := quantity.ParseMoment(value, newest.Local())
	if err != nil {
		return t, usage("--%s: %v", flag, err)
	}
	// Times are typed in whole seconds or minutes.
	if t.Before(oldest.Truncate(time.Minute)) || t.After(newest) {
		return t, &failure{code: exitFailure, message: fmt.Sprintf("--%s %s: nothing is recorded of that time", flag, text.Clean(value)),
			advice: []string{fmt.Sprintf("  %s has %s to %s", text.Clean(where), oldest.Local().Format(time.DateTime), newest.Local().Format(time.DateTime))}}
	}
	if t.Before(oldest) {
		t = oldest
	}
	return t, nil
}

// momentFlag is momentOf, or fallback without a value.
func momentFlag(r *recording.Recording, where, flag, value string, fallback time.Time) (time.Time, error) {
	if value == "" {
		return fallback, nil
	}
	return momentOf(r, where, flag, value)
}

// spanFlags are the times of --from and --to, or else of the whole recording.
func spanFlags(r *recording.Recording, where, from, to string) (begin, end time.Time, err error) {
	oldest, newest := r.Span()
	if end, err = momentFlag(r, where, "to", to, newest.Add(1)); err != nil {
		return begin, end, err
	}
	if begin, err = momentFlag(r, where, "from", from, oldest); err == nil && !begin.Before(end) {
		err = usage("--from is not before --to")
	}
	return begin, end, err
}
