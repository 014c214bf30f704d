package table

import (
	"time"

	"vramscope/sampler/snapshot"
)

// Listing is what the keys have made of the table: which rows it lists, and how.
type Listing struct {
	Cursor  Cursor
	Tags    map[snapshot.RowID]bool
	Sort    Order
	Filter  string // rows that contain it stay; "" is all
	Mine    bool   // only the viewer's processes
	Tree    bool   // children under their parents
	Focus   *Focus // a GPU or instance whose rows alone are listed
	ScrollX int    // cells the COMMAND column is moved by

	Columns []string // names of the columns in the user's order; nil: as many as fit, by importance

	Held map[snapshot.RowID]int // the order of the rows while a dialog is open; nil: as sorted
}

// Cursor holds a process, not a line: rows move around it.
type Cursor struct {
	Active bool
	ID     snapshot.RowID
	Line   int       // the line of the table that it keeps while rows move
	Since  time.Time // the shown moment at which it came to the process
}

// Focus narrows the table to a GPU, and to one of its instances if any.
type Focus struct {
	GPUUUID  string
	Instance snapshot.InstanceID
}

// Order is the table's sort key and direction.
type Order struct {
	Column   string // a column's title: "USED", "PID", …
	Reversed bool
}

// Words are "USED, largest first".
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
