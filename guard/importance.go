package guard

import (
	"regexp"
	"strings"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// importance is what the configuration and the process itself say of its importance.
type importance struct {
	value       int
	protect     bool
	named       bool // an entry matches it
	distributed bool // it may be touched although it is a part of a distributed job
}

// importanceOf applies the entries. A process may lower its own importance, never raise it.
func (e *Engine) importanceOf(p *snapshot.Process) importance {
	var imp importance
	for i := range e.policy.Importance {
		entry := &e.policy.Importance[i]
		if !e.patterns[i].match(p) {
			continue
		}
		if !imp.named {
			imp.value, imp.named = entry.Value, true
		}
		imp.protect = imp.protect || entry.Protect
		imp.distributed = imp.distributed || entry.Distributed
	}
	if own, ok := p.Hints.Importance.Value(); ok {
		imp.value = min(imp.value, max(own, LeastImportant))
	}
	return imp
}

// patterns are those of an entry.
type patterns struct{ user, command, job *regexp.Regexp } // nil: any

func (entry *Importance) patterns() patterns {
	return patterns{compile(entry.User), compile(entry.Command), compile(entry.Job)}
}

// match reports whether every pattern matches.
func (of *patterns) match(p *snapshot.Process) bool {
	job := ""
	if p.Job.Kind != "" {
		job = p.Job.Kind + ":" + p.Job.ID
	}
	return (of.user == nil || of.user.MatchString(p.User)) &&
		(of.command == nil || of.command.MatchString(process.ShortCommand(p.Command, p.Name))) &&
		(of.job == nil || of.job.MatchString(job))
}

// compile makes an expression of a pattern: "*" is any text, "?" any character, the
// rest is itself; nil of an empty one, which matches everything. A command line may be
// hostile: matching takes time in proportion to its length.
func compile(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	quoted := regexp.QuoteMeta(strings.ToValidUTF8(pattern, "\uFFFD"))
	return regexp.MustCompile("(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(quoted) + "$")
}
