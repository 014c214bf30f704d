package fleet

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"vramscope/sampler/snapshot"
)

// Filter selects the lines that match every term.
type Filter []Term

// Term is a word to search for, ignoring case.
type Term struct {
	Field Field
	Word  string
}

// Field is the part of a line in which a word is searched for.
type Field string

// Anywhere means a host, a user or a job.
const (
	Anywhere Field = ""
	InHost   Field = "host"
	InUser   Field = "user"
	InJob    Field = "job"
	InState  Field = "state"
)

// The words of InState.
const (
	stateDown  = "down"  // the box does not answer, or its figures are old
	stateLost  = "lost"  // the GPU does not answer
	stateAlert = "alert" // an alert is active
	stateFull  = "full"  // out of memory, low on memory, or full soon
	stateIdle  = "idle"  // more than a GiB is used and nothing runs
)

var states = []string{stateDown, stateLost, stateAlert, stateFull, stateIdle}

// longestTerm, in bytes, and mostTerms limit the text sent to an engine for each refresh.
const longestTerm, mostTerms = 100, 10

// ParseFilter reads words separated by blanks: "h100-", "user=alice", "state=down".
func ParseFilter(s string) (Filter, error) {
	var f Filter
	for word := range strings.FieldsSeq(s) {
		t := Term{Word: word}
		if name, value, found := strings.Cut(word, "="); found {
			if t = (Term{Field(name), value}); !slices.Contains([]Field{InHost, InUser, InJob, InState}, t.Field) || value == "" {
				return nil, fmt.Errorf("%q: want host=, user=, job= or state= and a word", word)
			}
		}
		if t.Field == InState && !slices.Contains(states, t.Word) {
			return nil, fmt.Errorf("state=%s: want %s", t.Word, strings.Join(states, ", "))
		}
		switch {
		case len(t.Word) > longestTerm:
			return nil, fmt.Errorf("a word of the filter is longer than %d bytes", longestTerm)
		case !utf8.ValidString(t.Word):
			return nil, fmt.Errorf("%q is not UTF-8", t.Word)
		case len(f) == mostTerms:
			return nil, fmt.Errorf("more than %d words", mostTerms)
		}
		f = append(f, t)
	}
	return f, nil
}

// String is the inverse of ParseFilter.
func (f Filter) String() string {
	var words []string
	for _, t := range f {
		word := t.Word
		if t.Field != Anywhere {
			word = string(t.Field) + "=" + word
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (f Filter) terms(fields ...Field) (found Filter) {
	for _, t := range f {
		if slices.Contains(fields, t.Field) {
			found = append(found, t)
		}
	}
	return found
}

// ByState reports whether the filter has a term for a state.
func (f Filter) ByState() bool { return len(f.terms(InState)) > 0 }

func (f Filter) ofPeople() bool { return len(f.terms(InUser, InJob)) > 0 }

// named returns the terms that name hosts, users or jobs.
func (f Filter) named() Filter { return f.terms(Anywhere, InHost, InUser, InJob) }

// state reports whether a line matches all terms of the filter for states.
func (f Filter) state(l *Line) bool {
	for _, t := range f.terms(InState) {
		in := false
		switch t.Word {
		case stateDown:
			in = l.State == Down || l.State == Stopped
		case stateLost:
			in = l.State == OK && l.GPU.State != "" && l.GPU.State != snapshot.GPUOK || l.Alert == snapshot.AlertLost || l.Alert == snapshot.AlertHanging
		case stateAlert:
			in = l.Alert != ""
		case stateFull:
			in = slices.Contains([]snapshot.AlertKind{snapshot.AlertFullIn, snapshot.AlertOutOfMemory, snapshot.AlertLowMemory}, l.Alert)
		case stateIdle:
			in = l.Idle.Or(0) > 0
		}
		if !in {
			return false
		}
	}
	return true
}

// matches reports whether a box with these rows matches the filter's other terms.
func (f Filter) matches(name string, rows []snapshot.Process) bool {
	for _, t := range f.named() {
		has := func(field Field, s string) bool {
			return (t.Field == Anywhere || t.Field == field) && strings.Contains(strings.ToLower(s), strings.ToLower(t.Word))
		}
		if !has(InHost, name) && !slices.ContainsFunc(rows, func(p snapshot.Process) bool { return has(InUser, p.User) || has(InJob, p.Job.ID) }) {
			return false
		}
	}
	return true
}
