// Package segments draws where the memory of a process's allocators lies, and
// answers one question: why does a flush not free more?
//
//	snapshot.SegmentMap ── New ──→ Map: segments sorted by fate and size (map.go)
//	Map, View ── Panel.Render ──→ the answer in words (answer.go)
//	                          ──→ strips of cells, one per fate (strips.go, cells.go)
//
// Start reading at Panel.
package segments
