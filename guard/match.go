package guard

import (
	"strings"

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
// character, the rest is itself. An empty pattern matches everything.
func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(pattern, "*")
	rest, ok := cutStart(text, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		if rest, ok = cutFirst(rest, part); !ok {
			return false
		}
	}
	last := []rune(parts[len(parts)-1])
	runes := []rune(rest)
	if len(runes) < len(last) {
		return false
	}
	end, ok := cutStart(string(runes[len(runes)-len(last):]), string(last))
	return ok && end == ""
}

// cutStart cuts a part, in which "?" is any character, from the start of a text.
func cutStart(text, part string) (rest string, ok bool) {
	runes, wanted := []rune(text), []rune(part)
	if len(runes) < len(wanted) {
		return text, false
	}
	for i, r := range wanted {
		if r != '?' && r != runes[i] {
			return text, false
		}
	}
	return string(runes[len(wanted):]), true
}

// cutFirst cuts a text after the first place at which the part is.
func cutFirst(text, part string) (rest string, ok bool) {
	runes := []rune(text)
	for i := range len(runes) + 1 {
		if rest, ok = cutStart(string(runes[i:]), part); ok {
			return rest, true
		}
	}
	return text, false
}
