package guard

import (
	"regexp"
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// importance is a process's importance by the configuration and by its own request.
type importance struct {
	value       int
	protect     bool
	named       bool // an entry matches the process
	distributed bool // the process may be flushed although it is a part of a distributed job

	unread string // an attribute that could not be read, and on which an entry may depend: "job"
}

// importanceOf applies the entries. A process may lower its own importance, never raise it. If an
// attribute cannot be read, each entry that may match first or protect limits the importance.
func (e *Engine) importanceOf(p *snapshot.Process) importance {
	var imp importance
	limit := MostImportant
	for i := range e.policy.Importance {
		entry := &e.policy.Importance[i]
		matches, unread := e.patterns[i].match(p)
		if unread != "" && (entry.Protect || !imp.named) {
			imp.unread, limit = unread, min(limit, entry.Value)
		}
		if !matches {
			continue
		}
		if !imp.named {
			imp.value, imp.named = entry.Value, true
		}
		imp.protect = imp.protect || entry.Protect
		imp.distributed = imp.distributed || entry.Distributed
	}
	imp.value = min(imp.value, limit)
	if own, ok := p.Hints.Importance.Value(); ok {
		imp.value = min(imp.value, max(own, LeastImportant))
	}
	return imp
}

// OfClaims returns a function that returns the importance of a claim for a lease. A user chooses
// the command of a claim, so an entry with a command counts only if own is true: the claim is by
// the daemon's own user. The job of a claim is not known.
func (p *Policy) OfClaims() func(user string, own bool, command []string) int {
	entries := make([]patterns, len(p.Importance))
	for i := range entries {
		entries[i] = p.Importance[i].patterns()
	}
	return func(user string, own bool, command []string) int {
		claims := snapshot.Process{User: user, UID: quantity.From(uint32(0), quantity.System), Command: command}
		for i := range entries {
			if matches, _ := entries[i].match(&claims); matches && (own || entries[i].command == nil) {
				return p.Importance[i].Value
			}
		}
		return 0
	}
}

type patterns struct {
	user, command, job *regexp.Regexp // nil: any
	kind               *regexp.Regexp // matches the job's kind
}

func (entry *Importance) patterns() patterns {
	kind, _, _ := strings.Cut(entry.Job, ":")
	return patterns{Pattern(entry.User), Pattern(entry.Command), Pattern(entry.Job), Pattern(kind)}
}

// match reports whether every pattern matches. If that depends on an attribute that could not
// be read, it returns that attribute's name.
func (of *patterns) match(p *snapshot.Process) (matches bool, unread string) {
	job := ""
	if p.Job.Kind != "" {
		job = p.Job.Kind + ":" + p.Job.ID
	}
	matches = true
	for _, fact := range []struct {
		name    string
		pattern *regexp.Regexp
		text    string
		unread  bool
	}{
		{"user", of.user, p.User, p.User == "" || p.Hints.UserUnread},
		{"command", of.command, process.ShortCommand(p.Command, p.Name), len(p.Command) == 0},
		{"job", of.job, job, job == "" && (p.Hints.JobUnread || !p.UID.Known()) || p.Hints.JobUnread && of.kind != nil && of.kind.MatchString(p.Job.Kind)},
	} {
		switch {
		case fact.pattern == nil || fact.pattern.MatchString(fact.text):
		case fact.unread:
			matches, unread = false, fact.name
		default:
			return false, ""
		}
	}
	return matches, unread
}

// Pattern makes a regular expression of a pattern: "*" is any text, "?" any character, and the rest is
// literal. It returns nil for an empty pattern, which matches everything.
func Pattern(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	quoted := regexp.QuoteMeta(strings.ToValidUTF8(pattern, "\uFFFD"))
	return regexp.MustCompile("(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(quoted) + "$")
}
