// Package sorted sorts slices of structs. slices.SortFunc is compiled once for each struct, which
// adds 7 to 20 KB to the program's file every time; Stable is compiled only once and swaps by
// reflection.
package sorted

import "sort"

// Stable sorts s as slices.SortStableFunc does.
func Stable[S ~[]T, T any](s S, compare func(a, b T) int) {
	sort.SliceStable(s, func(i, j int) bool { return compare(s[i], s[j]) < 0 })
}
