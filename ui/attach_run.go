package ui

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"vramscope/action"
	"vramscope/action/attach"
	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

// Attaching takes two commands:
//
//	a ─→ openAttach  ── cmd: Attachable ─→ fillMsg ────→ the question: how, or why not
//	y ─→ startAttach ── cmd: Attach ─────→ attachedMsg ───→ message line

const (
	// examineTimeout is how long Attachable may take.
	examineTimeout = 10 * time.Second
	// attachTimeout is how long Attach may take. It matters only if the shorter timeouts of Attach itself fail.
	attachTimeout = time.Minute
)

func (m *model) openAttach() (bool, tea.Cmd) {
	examine := m.options.Actions.Attachable
	p := m.needCursor()
	if p == nil || examine == nil || m.st.live == nil {
		return false, nil
	}
	if m.flush != nil || m.attaching {
		return m.say("one action at a time: another is under way"), nil
	}
	p = m.st.live.Row(p.ID)
	if p == nil {
		return m.say("refused: PID " + strconv.Itoa(m.st.Cursor.ID.Process.PID) + " has ended"), nil
	}
	if reason := attachRefusal(p); reason != "" {
		return m.say(reason), nil
	}
	id := p.ID.Process
	changed := m.openOverlay(dialog.NewAttach(&m.look, m.st.screen(), p.ID, uv.Environ(m.options.Environ).Getenv("HOME"), m.options.Actions.AuditLog))
	if m.st.overlay == nil {
		return changed, nil // the window is too small for the question
	}
	return changed, func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), examineTimeout)
		defer cancel()
		plan := examine(ctx, id)
		return fillMsg(func(o dialog.Overlay) (dialog.Overlay, bool) {
			waiting, ok := o.(dialog.Attach)
			return waiting.Fill(plan), ok && waiting.Process() == id
		})
	}
}

// attachRefusal returns why no probe can be attached, as far as the snapshot shows; else "".
func attachRefusal(p *snapshot.Process) string {
	pid := p.ID.Process.PID
	switch {
	case p.ID.Process.Foreign():
		return fmt.Sprintf("PID %d is %s: no action is possible on it", pid, p.ID.Process.Whose())
	case p.Probe != nil && p.Probe.State == snapshot.ProbeSilent:
		return fmt.Sprintf("PID %d has a probe, which is silent: a second one would be too", pid)
	case p.Probe != nil:
		return fmt.Sprintf("PID %d has a probe already", pid)
	default:
		return ""
	}
}

// startAttach attaches after y. Actions.Attach checks the identity again.
func (m *model) startAttach(d dialog.Attach) tea.Cmd {
	act, id := m.options.Actions.Attach, d.Process()
	if act == nil || m.st.readOnly {
		return nil
	}
	pid := strconv.Itoa(id.PID)
	m.attaching = true
	m.st.message, m.st.progress = "", "attaching a probe to "+pid+", at most 10 s"
	return func() tea.Msg {
		return attachedMsg{outcome(attachTimeout, "attach "+pid, func(ctx context.Context) (string, error) {
			result, err := act(ctx, attach.Request{Process: id, Origin: action.Key("a")})
			return attach.Sentence(id.PID, result), err
		})}
	}
}
