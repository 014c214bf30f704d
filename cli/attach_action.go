package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/probe/attach"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/ui"
)

// bindAttach binds the key a. A simulated box has no processes that one could
// get into.
func (src *sources) bindAttach(actions *ui.Actions, sampling *sampler.Sampler) {
	if src.table == nil {
		return
	}
	a := attacher(src.table, "monitor")
	actions.Attachable = func(ctx context.Context, id process.Identity) ui.AttachPlan {
		plan := a.Examine(ctx, id)
		return planForScreen(&plan)
	}
	actions.Attach = func(ctx context.Context, id process.Identity) (ui.AttachResult, error) {
		var result attach.Result
		var err error
		if ended := src.attaching.do(ctx, func(ctx context.Context) { result, err = a.Attach(ctx, id) }); ended != nil {
			return ui.AttachResult{}, ended
		}
		if err != nil {
			return ui.AttachResult{}, err
		}
		sampling.Note(attachedEvent(src.options.Clock(), sampling.Latest(), id, &result))
		return ui.AttachResult{Standstill: result.Standstill}, nil
	}
}

// planForScreen is a plan in the screen's words.
func planForScreen(plan *attach.Plan) ui.AttachPlan {
	out := ui.AttachPlan{
		Interpreter: plan.Interpreter, Version: plan.Version, Method: string(plan.Method),
		Instead: plan.Instead, AuditLog: stateHome(),
	}
	for _, check := range plan.Checks {
		out.Checks = append(out.Checks, ui.AttachCheck{OK: check.OK, Text: check.Text})
	}
	return out
}

// attachedEvent is a probe that was attached, in the log.
func attachedEvent(now time.Time, snap *snapshot.Snapshot, id process.Identity, result *attach.Result) snapshot.Event {
	event := snapshot.Event{
		Time: now, Kind: snapshot.EventAttach, Row: snapshot.RowID{Process: id},
		Message: fmt.Sprintf("attached a probe to %s by %s", strconv.Itoa(id.PID), result.Method),
	}
	if result.Method == attach.GDB {
		event.Message += ": it stood still for " + milliseconds(result.Standstill)
	}
	if rows := rowsOf(snap, id, nil); len(rows) > 0 {
		p := rows[0]
		event.GPU, event.GPUUUID, event.Row = p.GPU, p.ID.GPUUUID, p.ID
		event.User, event.Name, event.Bytes = text.Clean(p.User), programOf(p), p.Used
	} else {
		event.Bytes = quantity.Unknown[quantity.Bytes]()
	}
	return event
}
