// Package segments draws where the memory of a process's allocators lies, and says why a flush does not free more.
//
//	snapshot.SegmentMap ── New ──→ Map: segments sorted by fate and size (map.go)
//	Map, View ── Panel.Render ──→ the answer in words (answer.go)
//	                          ──→ strips of cells, by fate and size (strips.go, cells.go)
//
// Start reading at Panel.
package segments
