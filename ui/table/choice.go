package table

import (
	"cmp"
	"slices"
)

// Columns returns all columns in their default order.
func Columns() []Column {
	list := slices.Clone(allColumns[:])
	for i := range list {
		c := &list[i]
		c.Name, c.Fixed = cmp.Or(c.title, c.Name), c.id == columnCommand || slices.Contains(alwaysThere[:], c.id)
	}
	return list
}

// alwaysThere are the columns, other than the command, that cannot be left out.
var alwaysThere = [...]columnID{columnGPU, columnPID, columnUsed}

func columnOf(name string) (columnID, bool) {
	i := slices.IndexFunc(allColumns[:], func(c Column) bool { return cmp.Or(c.title, c.Name) == name })
	return columnID(max(i, 0)), i >= 0
}

// chosen returns the columns of names, after those of alwaysThere that names lacks; nil if names is empty.
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

// order returns the columns from left to right, without the command.
func (b box) order() []columnID {
	if b.chosen != nil {
		return b.chosen
	}
	usual := make([]columnID, columnCommand)
	for i := range usual {
		usual[i] = columnID(i)
	}
	return usual
}

// sortable reports whether the table can be sorted by a column: by any but a picture.
func sortable(id columnID) bool {
	return id != columnSpark && id != columnBar && id != columnTrend
}

// SortTitles returns the titles of the sortable columns at a width.
func (t *Table) SortTitles(width int) []string {
	var titles []string
	for _, c := range columnsAt(width, t.box()) {
		if sortable(c.id) {
			titles = append(titles, c.title)
		}
	}
	return titles
}

// SortColumns returns the sortable columns of this box, including those for which there is no room.
func (t *Table) SortColumns() []Column {
	b := t.box()
	b.chosen = nil
	var list []Column
	for _, c := range Columns() {
		if c.Off = false; sortable(c.id) && b.has(c) {
			list = append(list, c)
		}
	}
	return list
}
