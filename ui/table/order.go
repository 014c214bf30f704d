package table

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// Row is a line of the table: a running or an ended process.
type Row struct {
	Process *snapshot.Process
	Ended   *snapshot.EndedProcess // nil while it runs
	depth   int                    // generations under a parent, in the tree
	old     bool                   // ended long ago: at the end of the table
}

// endedFresh is how long the row of an ended process keeps its place before it goes to the end.
const endedFresh = time.Minute

// MaxEnded is how many ended processes are listed; one under the cursor may be added.
const MaxEnded = 2

// List returns the sorted rows that pass focus, mine and filter, those that ended long ago last. While a question is
// open they keep their order.
func (t *Table) List() []Row {
	s := t.Snapshot
	if s == nil {
		return nil
	}
	rows := make([]Row, 0, len(s.Rows)+len(s.Ended))
	for i := range s.Rows {
		if t.lists(&s.Rows[i]) {
			rows = append(rows, Row{Process: &s.Rows[i]})
		}
	}
	old, listed := 0, 0
	for i := range s.Ended { // newest first
		ended := &s.Ended[i]
		atCursor := t.Cursor.Active && t.Cursor.ID == ended.Last.ID
		if !t.lists(&ended.Last) || listed >= MaxEnded && !atCursor {
			continue
		}
		listed++
		// A row that was fresh when the cursor came keeps its place until the cursor leaves it.
		held := atCursor && t.Cursor.Since.Sub(ended.Ended) <= endedFresh
		fresh := t.Now.Sub(ended.Ended) <= endedFresh || held
		rows = append(rows, Row{Process: &ended.Last, Ended: ended, old: !fresh})
		if !fresh {
			old++
		}
	}
	sortRows(rows, t.Order())
	if t.Tree {
		underParents(rows[:len(rows)-old])
	}
	if t.Held != nil { // an earlier order; new rows come last
		place := func(r Row) int {
			if i, ok := t.Held[r.Process.ID]; ok {
				return i
			}
			return len(t.Held)
		}
		sorted.Stable(rows, func(a, b Row) int { return cmp.Compare(place(a), place(b)) })
	}
	return rows
}

// Recent returns the number of rows that did not end long ago.
func Recent(rows []Row) int {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.old }); i >= 0 {
		return i
	}
	return len(rows)
}

// lists reports whether focus, mine and filter leave a process in the table.
func (t *Table) lists(p *snapshot.Process) bool {
	if f := t.Focus; f != nil {
		if p.ID.GPUUUID != f.GPUUUID || f.Instance.MIG && p.ID.Instance != f.Instance {
			return false
		}
	}
	if t.Mine && p.User != t.Snapshot.Host.User {
		return false
	}
	return t.Filter == "" || Matches(p, t.Filter)
}

// Matches reports whether the user, runtime, job, name, PID or command of a process contains text, ignoring case.
func Matches(p *snapshot.Process, text string) bool {
	contains := func(field string) bool { return containsFold(field, text) }
	if slices.ContainsFunc([]string{p.User, p.Runtime, p.Job.Kind, p.Job.ID, p.Name, strconv.Itoa(p.ID.Process.PID)}, contains) ||
		slices.ContainsFunc(p.Command, contains) {
		return true
	}
	return contains(p.Job.String()) || strings.Contains(text, " ") && contains(strings.Join(p.Command, " "))
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// Order returns the order of the rows: by allocated instead of used if probes report, and the driver does not.
func (t *Table) Order() Order {
	o := t.Sort
	o.Column = cmp.Or(o.Column, "USED")
	if o.Column == "USED" && t.Snapshot != nil && t.Snapshot.Driver.State != snapshot.DriverOK && t.Parts {
		o.Column = "ALLOC"
	}
	return o
}

type sortKey struct {
	known  bool
	number float64
	text   string
}

// sortRows sorts by a column, unknown values last, then by identity, so that rows move only when a shown figure
// changes. Old rows follow. Unless reversed, numbers go down; GPU, PID and texts go up.
func sortRows(rows []Row, order Order) {
	type keyed struct {
		row Row
		key sortKey
	}
	list := make([]keyed, len(rows))
	column := columnNamed(order.Column)
	for i := range rows {
		list[i] = keyed{rows[i], keyOf(rows[i].Process, column)}
	}
	sign := 1
	if order.Reversed {
		sign = -1
	}
	group := func(k keyed) int {
		switch {
		case k.row.old:
			return 2
		case !k.key.known:
			return 1
		default:
			return 0
		}
	}
	sorted.Stable(list, func(a, b keyed) int {
		c := cmp.Compare(group(a), group(b))
		switch {
		case c != 0:
			return c
		case a.row.old:
			c = b.row.Ended.Ended.Compare(a.row.Ended.Ended)
		default:
			c = sign * cmp.Or(cmp.Compare(b.key.number, a.key.number), strings.Compare(a.key.text, b.key.text))
		}
		if c != 0 {
			return c
		}
		return compareIdentity(a.row.Process, b.row.Process)
	})
	for i := range list {
		rows[i] = list[i].row
	}
}

// compareIdentity never returns 0 for two different rows.
func compareIdentity(a, b *snapshot.Process) int {
	return cmp.Or(
		cmp.Compare(a.GPU, b.GPU),
		cmp.Compare(a.ID.Process.PID, b.ID.Process.PID),
		cmp.Compare(a.ID.Process.StartTime, b.ID.Process.StartTime),
		cmp.Compare(a.ID.GPUUUID, b.ID.GPUUUID),
		a.ID.Instance.Compare(b.ID.Instance),
		cmp.Compare(a.ID.Process.Namespace, b.ID.Process.Namespace),
	)
}

func keyOf(p *snapshot.Process, column columnID) sortKey {
	switch column {
	case columnGPU:
		// The smallest index comes first.
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
		// The longest running process comes first.
		return sortKey{known: !p.Started.IsZero(), number: -float64(p.Started.UnixNano())}
	case columnSM:
		v, ok := p.SMUtilization.Value()
		return sortKey{known: ok, number: float64(v)}
	case columnCPU:
		v, ok := p.CPU.Value()
		return sortKey{known: ok, number: float64(int64(v))}
	case columnPredicted:
		v, ok := predicted(p)
		return sortKey{known: ok, number: cell.Rounded(v)}
	default:
		v, ok := amountOf(p, column).Value()
		return sortKey{known: ok, number: cell.Rounded(v)}
	}
}

func textKey(text string) sortKey { return sortKey{known: text != "", text: text} }

func amountOf(p *snapshot.Process, column columnID) snapshot.Bytes {
	return quantity.As[quantity.Bytes](p.Value(allColumns[column].amount))
}

// predicted returns the median of the forecast for a minute ahead.
func predicted(p *snapshot.Process) (quantity.Bytes, bool) {
	f := snapshot.Find(p.Predicted, func(f *snapshot.Prediction) bool { return f.Horizon == time.Minute })
	if f == nil {
		return 0, false
	}
	return f.Median, true
}
