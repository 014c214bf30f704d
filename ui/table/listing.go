package table

import (
	"time"

	"vramscope/sampler/snapshot"
)

// Listing is what the user has chosen for the table.
type Listing struct {
	Cursor  Cursor
	Tags    map[snapshot.RowID]bool
	Sort    Order
	Filter  string          // only rows that contain this text; "": all
	Mine    bool            // only the viewer's processes
	Tree    bool            // children under their parents
	Focus   *snapshot.Place // only the rows of this GPU or MIG instance; nil: all
	ScrollX int             // cells by which the COMMAND column is scrolled

	Columns []string // names of the columns in the user's order; nil: as many as fit, by importance

	Held map[snapshot.RowID]int // the order of the rows while a question is open; nil: as sorted
}

// Cursor stays on a process, not on a row: rows move around it.
type Cursor struct {
	Active bool
	ID     snapshot.RowID
	Line   int       // the line of the table on which it stays while rows move
	Row    int       // the process's place in the list
	Since  time.Time // the shown moment at which it was put on the process
}

// Order is the table's sort key and direction.
type Order struct {
	Column   string // a column's title: "USED", "PID", …
	Reversed bool
}

// Words returns "USED, largest first".
func (o Order) Words() string {
	up, down := "smallest first", "largest first"
	switch columnNamed(o.Column) {
	case columnUser, columnType, columnRuntime, columnJob, columnCommand:
		up, down = "Z to A", "A to Z"
	case columnGPU, columnPID:
		up, down = down, up
	case columnTime:
		up, down = "youngest first", "oldest first"
	}
	if o.Reversed {
		return o.Column + ", " + up
	}
	return o.Column + ", " + down
}
