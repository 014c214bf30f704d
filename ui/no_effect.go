package ui

import (
	"regexp"

	"vramscope/ui/keys"
)

// noKey says why a key does nothing: the key is bound elsewhere, with other options, or nowhere.
func (m *model) noKey(name string) bool {
	scope, past := m.st.scope(), !m.st.past.IsZero()
	every := keys.New(keys.AllAbilities, false)
	needs, bound := every.Needs(name, scope)
	switch {
	case scope == keys.InOverlay:
		return false
	case m.st.readOnly && bound && keys.New(keys.AllAbilities, true).Match(name, scope, false) == keys.None:
		m.say("--read-only: actions are disabled")
	case past && !m.st.replay && m.look.Keys.Match(name, scope, false) != keys.None:
		m.say("not in the past: L shows the present")
	case bound && !m.look.Keys.Can(needs):
		m.say(m.without(needs))
	case bound:
		m.say("a recording: there is no process to act on")
	case (scope == keys.InDetail || scope == keys.InPage) && every.Match(name, keys.InMain, false) != keys.None:
		m.say(name + " is for the list: Esc goes back to it")
	case every.Match(name, keys.InDetail, false) != keys.None:
		m.say(name + " is for the detail: Enter shows it")
	case scope == keys.InNoDriver && every.Match(name, keys.InMain, false) != keys.None:
		m.say(name + " needs a driver")
	case regexp.MustCompile("^([!-~]|f[0-9]{1,2}|tab|delete|insert)$").MatchString(name): // a key that is pressed on purpose
		m.say(name + " has no function: ? lists the keys")
	default:
		return false
	}
	return true
}

func (m *model) without(needs keys.Ability) string {
	simulated := m.st.live != nil && m.st.live.Simulated
	switch {
	case m.st.replay && needs == keys.CanSample:
		return "a recording is not sampled: no interval, no present"
	case m.st.replay:
		return "a recording: there is no process to act on"
	case needs == keys.CanPauseGuard:
		return "no guard runs: the configuration has no [[guard.rule]]"
	case needs == keys.CanCopy:
		return "this console has no clipboard"
	case simulated && needs == keys.CanAttach:
		return "a demo: its processes are simulated, no probe can be attached"
	case simulated && needs == keys.CanEnvironment:
		return "a demo: its processes are simulated, they have no environment"
	case simulated:
		return "a demo: its processes are simulated"
	default:
		return "not possible in this run of vramscope"
	}
}
