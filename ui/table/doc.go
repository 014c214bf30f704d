// Package table is the table of processes.
//
//	snapshot, Listing (cursor, filter, sort, …)
//	    └─ List: filter, sort, tree (order.go, tree.go) ─→ rows
//	width ─→ columns (column.go) ─┬─→ Render: titles, rows around the cursor
//	rows ─→ cells (cells.go) ─────┘
//
// Start reading at Table.
package table
