package guard

import (
	"strings"
	"unicode/utf8"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// worth is what the configuration and the process itself say of its importance.
type worth struct {
	value       int
	protect     bool
	distributed bool // it may be touched although it is a part of a distributed job
}

// worthOf applies the entries. A process may lower its own importance, never raise it.
func (e *Engine) worthOf(p *snapshot.Process) worth {
	var w worth
	matched := false
	for i := range e.policy.Importance {
		entry := &e.policy.Importance[i]
		if !entry.matches(p) {
			continue
		}
		if !matched {
			w.value, matched = entry.Value, true
		}
		w.protect = w.protect || entry.Protect
		w.distributed = w.distributed || entry.Distributed
	}
	if own, ok := p.Wishes.Importance.Value(); ok {
		w.value = min(w.value, max(own, LeastImportant))
	}
	return w
}

// matches reports whether every pattern of the entry matches.
func (entry *Importance) matches(p *snapshot.Process) bool {
	job := ""
	if p.Job.Kind != "" {
		job = p.Job.Kind + ":" + p.Job.ID
	}
	return matches(entry.User, p.User) &&
		matches(entry.Command, process.ShortCommand(p.Command, p.Name)) &&
		matches(entry.Job, job)
}

// matches reports whether a text is of a pattern: "*" is any text, "?" any
// character, the rest is itself. An empty pattern matches everything. A command line
// may be hostile: no pattern takes more than the product of the lengths.
func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	var afterStar, tried string // where to go on when the rest does not match
	starred := false
	for text != "" {
		wanted, wide := utf8.DecodeRuneInString(pattern)
		is, long := utf8.DecodeRuneInString(text)
		switch {
		case pattern != "" && wanted == '*':
			pattern = pattern[1:]
			afterStar, tried, starred = pattern, text, true
		case pattern != "" && (wanted == '?' || wanted == is):
			pattern, text = pattern[wide:], text[long:]
		case starred: // the star takes one character more
			_, long = utf8.DecodeRuneInString(tried)
			tried = tried[long:]
			pattern, text = afterStar, tried
		default:
			return false
		}
	}
	return strings.Trim(pattern, "*") == ""
}
