package table

import (
	"cmp"
	"slices"
)

// Column is what menus and the help show of a column.
type Column struct {
	Name     string // its title, or another name where it has none
	Help     string // what it shows, in one line
	Sortable bool
	Fixed    bool // it cannot be left out
	Off      bool // it is left out unless it is chosen
}

func Columns() []Column {
	list := make([]Column, len(allColumns))
	for i, c := range allColumns {
		list[i] = Column{
			Name: c.shown(), Help: c.help, Sortable: sortable(c.id), Off: c.off,
			Fixed: c.id == columnCommand || slices.Contains(alwaysThere[:], c.id),
		}
	}
	return list
}

// alwaysThere are the columns, besides the command, that cannot be left out.
var alwaysThere = [...]columnID{columnGPU, columnPID, columnUsed}

func (c *column) shown() string { return cmp.Or(c.title, c.name) }

func columnOf(name string) (columnID, bool) {
	for i := range allColumns {
		if allColumns[i].shown() == name {
			return allColumns[i].id, true
		}
	}
	return 0, false
}

// chosen are the columns of names; before them those that cannot be left out and are not
// named. It is nil without names.
func chosen(names []string) []columnID {
	if len(names) == 0 {
		return nil
	}
	ids := make([]columnID, 0, columnCount)
	for _, name := range names {
		if id, ok := columnOf(name); ok && id != columnCommand && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	var missing []columnID
	for _, id := range alwaysThere {
		if !slices.Contains(ids, id) {
			missing = append(missing, id)
		}
	}
	return append(missing, ids...)
}

// order is the columns from left to right, without the command.
func (b box) order() []columnID {
	if b.chosen != nil {
		return b.chosen
	}
	return usualOrder[:columnCommand]
}

var usualOrder = func() (ids [columnCount]columnID) {
	for i := range ids {
		ids[i] = columnID(i)
	}
	return ids
}()

// sortable reports whether the table can be sorted by a column: not by pictures.
func sortable(id columnID) bool {
	return id != columnSpark && id != columnBar && id != columnTrend
}

// SortTitles are the titles of the sortable columns at a width.
func (t *Table) SortTitles(width int) []string {
	var titles []string
	for _, c := range columnsAt(width, t.box()) {
		if sortable(c.id) {
			titles = append(titles, c.title)
		}
	}
	return titles
}

// SortColumns are the sortable columns of this box, also those for which the width has no
// room.
func (t *Table) SortColumns() []Column {
	b := t.box()
	b.chosen = nil
	var list []Column
	for i, c := range Columns() {
		all := allColumns[i]
		if all.off = false; c.Sortable && b.has(all) {
			list = append(list, c)
		}
	}
	return list
}
