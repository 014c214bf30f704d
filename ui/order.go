package ui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// row is one line of the table: a process, or one that has ended.
type row struct {
	process *snapshot.Process
	gone    *snapshot.EndedProcess // nil while it lives
	depth   int                    // generations under a parent, in the tree
	bracket bracket                // of the rows that one launcher started, in the tree
	old     bool                   // ended long ago: only there while lines are free
}

// goneFresh is how long an ended process keeps its place among the living;
// after that it goes to the end of the table, and stays while lines are free.
const goneFresh = time.Minute

// visibleRows is what the table lists, in order: the rows that focus, mine
// and filter leave, sorted, then what ended long ago.
func visibleRows(st *state) []row {
	s := st.shown
	if s == nil {
		return nil
	}
	now := st.moment()
	rows := make([]row, 0, len(s.Rows)+len(s.Ended))
	for i := range s.Rows {
		if st.lists(&s.Rows[i]) {
			rows = append(rows, row{process: &s.Rows[i]})
		}
	}
	old := 0
	for i := range s.Ended {
		gone := &s.Ended[i]
		if !st.lists(&gone.Last) {
			continue
		}
		held := st.cursor.active && st.cursor.id == gone.Last.ID
		fresh := now.Sub(gone.Ended) <= goneFresh || held
		rows = append(rows, row{process: &gone.Last, gone: gone, old: !fresh})
		if !fresh {
			old++
		}
	}
	order := st.order()
	sortRows(rows, order)
	if st.tree {
		underParents(rows[:len(rows)-old])
	}
	if st.held != nil {
		hold(rows, st.held)
	}
	return rows
}

// hold puts rows back into the order that they had; new ones come after them.
func hold(rows []row, order map[snapshot.RowID]int) {
	place := func(r row) int {
		if i, ok := order[r.process.ID]; ok {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(place(a), place(b)) })
}

// countable is how many rows there are, those that ended long ago left out.
func countable(rows []row) int {
	for i := range rows {
		if rows[i].old {
			return i
		}
	}
	return len(rows)
}

// lists reports whether focus, mine and filter leave a process in the table.
func (st *state) lists(p *snapshot.Process) bool {
	if f := st.focus; f != nil {
		if p.ID.GPUUUID != f.gpuUUID || f.instance.MIG && p.ID.Instance != f.instance {
			return false
		}
	}
	if st.mine && p.User != st.shown.Host.User {
		return false
	}
	return st.filter == "" || rowMatches(p, st.filter)
}

// rowMatches reports whether what a reader sees of a row contains text, upper
// and lower case alike. Filter and find share it.
func rowMatches(p *snapshot.Process, text string) bool {
	for _, field := range [...]string{p.User, p.Runtime, p.Job.Kind, p.Job.ID, p.Name} {
		if containsFold(field, text) {
			return true
		}
	}
	if containsFold(strconv.Itoa(p.ID.Process.PID), text) {
		return true
	}
	for _, argument := range p.Command {
		if containsFold(argument, text) {
			return true
		}
	}
	return containsFold(p.Job.String(), text) || strings.Contains(text, " ") && containsFold(strings.Join(p.Command, " "), text)
}

// containsFold is strings.Contains without regard to case, without a copy of
// the text where it is ASCII.
func containsFold(text, part string) bool {
	if len(part) == 0 {
		return true
	}
	for i := range len(part) {
		if part[i] >= 0x80 {
			return strings.Contains(strings.ToLower(text), strings.ToLower(part))
		}
	}
	for i := 0; i+len(part) <= len(text); i++ {
		if strings.EqualFold(text[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// order is what the table sorts by. Without a driver nobody knows used; what
// is known then is allocated.
func (st *state) order() sortOrder {
	o := st.sort
	if o.column == "" {
		o.column = "USED"
	}
	if o.column == "USED" && st.shown != nil && st.shown.Driver.State != snapshot.DriverOK && st.partsShown() {
		o.column = "ALLOC"
	}
	return o
}

// sortKey is what a row is sorted by: a number, or a text.
type sortKey struct {
	known  bool
	number float64
	text   string
}

// sortRows sorts by the column, then by GPU, pid and start time, which makes
// the order total: rows move only when a figure that is shown does. Unknown
// comes last both ways; numbers go down and texts up unless reversed.
func sortRows(rows []row, order sortOrder) {
	type keyed struct {
		row row
		key sortKey
	}
	list := make([]keyed, len(rows))
	column := columnNamed(order.column)
	for i := range rows {
		list[i] = keyed{rows[i], keyOf(rows[i].process, column)}
	}
	sign := 1
	if order.reversed {
		sign = -1
	}
	slices.SortFunc(list, func(a, b keyed) int {
		if a.row.old != b.row.old {
			return compareBool(a.row.old, b.row.old)
		}
		if a.row.old {
			if c := b.row.gone.Ended.Compare(a.row.gone.Ended); c != 0 {
				return c
			}
		} else if a.key.known != b.key.known {
			return compareBool(b.key.known, a.key.known)
		} else if c := cmp.Compare(b.key.number, a.key.number); c != 0 {
			return sign * c
		} else if c := strings.Compare(a.key.text, b.key.text); c != 0 {
			return sign * c
		}
		return compareIdentity(a.row.process, b.row.process)
	})
	for i := range list {
		rows[i] = list[i].row
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// compareIdentity tells any two rows apart.
func compareIdentity(a, b *snapshot.Process) int {
	return cmp.Or(
		cmp.Compare(a.GPU, b.GPU),
		cmp.Compare(a.ID.Process.PID, b.ID.Process.PID),
		cmp.Compare(a.ID.Process.StartTime, b.ID.Process.StartTime),
		cmp.Compare(a.ID.GPUUUID, b.ID.GPUUUID),
		cmp.Compare(a.ID.Instance.GPU, b.ID.Instance.GPU),
		cmp.Compare(a.ID.Instance.Compute, b.ID.Instance.Compute),
		cmp.Compare(a.ID.Process.Namespace, b.ID.Process.Namespace),
	)
}

// keyOf is what a column shows of a process, as something to sort by.
func keyOf(p *snapshot.Process, column columnID) sortKey {
	switch column {
	case columnGPU:
		// Ascending is what a reader expects of an index.
		return sortKey{known: true, number: -float64(p.GPU)}
	case columnPID:
		return sortKey{known: true, number: -float64(p.ID.Process.PID)}
	case columnUser:
		return textKey(p.User)
	case columnType:
		return textKey(p.Type)
	case columnRuntime:
		return textKey(p.Runtime)
	case columnJob:
		return textKey(p.Job.String())
	case columnCommand:
		return textKey(strings.ToLower(cell.ShortCommand(p)))
	case columnTime:
		// The longest first: the earliest start.
		return sortKey{known: !p.Started.IsZero(), number: -float64(p.Started.UnixNano())}
	case columnSM:
		v, ok := p.SMUtilization.Value()
		return sortKey{known: ok, number: float64(v)}
	case columnCPU:
		v, ok := p.CPU.Value()
		return sortKey{known: ok, number: float64(int64(v))}
	case columnPredicted:
		v, ok := predictedIn(p, predictionShown)
		return sortKey{known: ok, number: float64(cell.Rounded(v))}
	default:
		v, ok := amountOf(p, column).Value()
		return sortKey{known: ok, number: float64(cell.Rounded(v))}
	}
}

func textKey(text string) sortKey { return sortKey{known: text != "", text: text} }

// amountOf is the amount of memory that a column shows.
func amountOf(p *snapshot.Process, column columnID) snapshot.Bytes {
	switch column {
	case columnAllocated:
		return p.Allocated
	case columnFragmented:
		return p.Fragmented
	case columnCached:
		return p.Cached
	case columnOther:
		return p.Other
	case columnFlush:
		return p.Returnable
	case columnHost:
		return p.Host
	default:
		return p.Used
	}
}

// predictionShown is the horizon of the column +60s.
const predictionShown = time.Minute

func predictedIn(p *snapshot.Process, horizon time.Duration) (quantity.Bytes, bool) {
	for i := range p.Predicted {
		if p.Predicted[i].Horizon == horizon {
			return p.Predicted[i].Median, true
		}
	}
	return 0, false
}
