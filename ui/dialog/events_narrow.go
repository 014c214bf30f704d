package dialog

import (
	"strconv"
	"strings"
	"time"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// minFramed is the minimum height for a frame and a list. A lower screen shows only the event under the cursor, in full.
const minFramed = 5

// foot returns the event under the cursor in full if the screen is low, or if a narrow list cuts messages off. In a frame
// the foot takes at most a third of the height.
func (e Events) foot(width, height int) []string {
	switch {
	case len(e.log) == 0:
		return nil
	case height < minFramed:
		return cell.Wrap(e.clock(&e.log[e.at])+" "+e.sentence(&e.log[e.at]), width-2, height, e.look.Glyphs.Ellipsis)
	case width < framedWidth && e.beyond(width) > 0:
		return cell.Wrap(e.sentence(&e.log[e.at]), width-4, (height-2)/3, e.look.Glyphs.Ellipsis)
	}
	return nil
}

// framedWidth is the minimum width for all columns.
const framedWidth = 60

// lines returns the number of lines in view: the height without frame, titles and foot.
func (e Events) lines(width, height int) int {
	rows := height - 3
	if width < framedWidth && e.beyond(width) > 0 {
		rows -= (height - 2) / 3
	}
	return max(rows, 0)
}

// sentence returns an event in words, including its GPU, process and user.
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

func (e Events) clock(event *snapshot.Event) string {
	return event.Time.In(time.Time(e.now).Location()).Format(time.TimeOnly)
}
