package dialog

import (
	"strconv"
	"strings"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// Where the lines have no room for the events, the event under the cursor is shown in full.

// minFramed is the minimum height for a frame and a list. Below it only the event under the
// cursor is shown, in full.
const minFramed = 5

// foot returns the event under the cursor in full, where the list cuts messages.
func (e Events) foot(width, height int) []string {
	switch {
	case len(e.log) == 0:
		return nil
	case height < minFramed:
		return cell.Wrap(e.now.Clock(e.log[e.at].Time)+" "+e.sentence(&e.log[e.at]), width-2, height, e.look.Glyphs.Ellipsis)
	default:
		return cell.Wrap(e.sentence(&e.log[e.at]), width-4, e.footRows(width, height), e.look.Glyphs.Ellipsis)
	}
}

// footRows returns how many lines of the frame are for the foot, at most a third; on a wide screen
// two are enough.
func (e Events) footRows(width, height int) int {
	switch {
	case e.longest <= e.room(width):
		return 0
	case width < framedWidth:
		return (height - 2) / 3
	default:
		return min((height-2)/3, 2)
	}
}

// framedWidth is the minimum width for all columns.
const framedWidth = 60

// lines returns the number of events in view: the height without frame, titles and foot.
func (e Events) lines(width, height int) int {
	return max(height-3-e.footRows(width, height), 0)
}

// sentence returns an event with what else stands in columns.
func (e Events) sentence(event *snapshot.Event) string {
	words := ""
	if event.GPUUUID != "" {
		words = "GPU " + strconv.Itoa(event.GPU) + " "
	}
	if pid := event.Row.Process.PID; pid != 0 {
		words += "PID " + strconv.Itoa(pid) + " "
	}
	if event.User != "" {
		words += text.Clean(event.User) + " "
	}
	return words + strings.TrimLeft(e.message(event), " ")
}

// unframed returns lines over the whole width.
func (e Events) unframed(lines []string, width int) []string {
	for i, line := range lines {
		lines[i] = cell.Indented(e.look, width, cell.Span{e.look.Styles.Text, line})
	}
	return lines
}
