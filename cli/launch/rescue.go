package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"vramscope/cli/command"
	"vramscope/daemon/socket"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// rescuerTime is how long a command's start waits for daemons.
const rescuerTime = time.Second

// rescuer is the daemon that makes room for allocations that fail, or why there is none.
func rescuer(p *command.Program) (who string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), rescuerTime)
	defer cancel()
	err = errors.New("no daemon answers; vramscope daemon --guard=act starts one")
	for _, place := range p.Daemons() {
		client, dialed := socket.Dial(ctx, []socket.Place{place})
		switch {
		case errors.Is(dialed, os.ErrPermission):
			err = fmt.Errorf("%s does not admit you; share in its [daemon] does", daemonOf(place))
		case dialed != nil && !socket.Absent(dialed):
			err = dialed
		}
		if dialed != nil {
			continue
		}
		who = fmt.Sprintf("%s (PID %d)", daemonOf(place), client.Status().PID)
		g, asked := client.Guard(ctx)
		_ = client.Close() // it has answered
		if asked = acts(g, asked); asked == nil {
			return who, nil
		}
		err = fmt.Errorf("%s: %w", who, asked)
	}
	return "", err
}

func daemonOf(place socket.Place) string {
	if place.Owner == 0 {
		return "root's daemon"
	}
	return "your daemon"
}

// acts is why a guard, or what came of the question for it, makes no room; nil: it does.
func acts(g *snapshot.Guard, asked error) error {
	refusal, refused := errors.AsType[*probe.Error](asked)
	switch {
	case refused:
		return errors.New(text.Clean(refusal.Message))
	case asked != nil:
		return asked
	case g.Mode != snapshot.GuardAct:
		return fmt.Errorf(`its guard does not act: its mode is %s; mode = "act" in [guard] has it act`, g.Mode)
	case !g.Paused.IsZero():
		return fmt.Errorf("its guard is paused until %s", g.Paused.Format(time.TimeOnly))
	}
	return nil
}
