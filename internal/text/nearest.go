package text

import "strings"

// Nearest finds the word that was probably meant: the one with the smallest edit distance. It
// returns "" if none is close.
func Nearest(word string, words []string) string {
	word = strings.ToLower(word)
	if len(word) > 64 {
		return ""
	}
	best, limit := "", max(len(word)/3, 1)+1
	for _, candidate := range words {
		d := editDistance(word, strings.ToLower(candidate))
		if len(word) > 2 && strings.HasPrefix(strings.ToLower(candidate), word) {
			d = min(d, 1)
		}
		if d < limit {
			best, limit = candidate, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, substitutions and swaps of neighbours, each as 1.
// Source: https://en.wikipedia.org/wiki/Damerau–Levenshtein_distance
func editDistance(a, b string) int {
	before, previous := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current := make([]int, len(b)+1)
		current[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(previous[j]+cost, previous[j+1]+1, current[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
		before, previous = previous, current
	}
	return previous[len(b)]
}
