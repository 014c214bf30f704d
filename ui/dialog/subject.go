package dialog

import (
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// subject is the process that a question is about. It may end while the question is open.
type subject struct {
	look   *cell.Appearance
	now    cell.Moment
	viewer string             // the user of vramscope
	target snapshot.Process   // the row, as last seen
	all    []snapshot.Process // its rows on all GPUs; none once it has ended
}

func newSubject(lk *cell.Appearance, now *Screen, id snapshot.RowID) subject {
	s := subject{look: lk, target: snapshot.Process{ID: id}}
	if ended := now.Shown.EndedRow(id); ended != nil {
		s.target = ended.Last
	}
	return s.following(now)
}

func (s subject) following(now *Screen) subject {
	if now.Live == nil {
		return s
	}
	s.now, s.viewer, s.all = cell.Moment(now.Now), now.Live.Host.User, nil
	for p := range now.Live.ProcessRows(s.target.ID.Process) {
		s.all = append(s.all, *p)
		if p.ID == s.target.ID {
			s.target = *p
		}
	}
	return s
}

func (s subject) ended() bool { return len(s.all) == 0 }

func (s subject) Process() process.Identity { return s.target.ID.Process }
