package text

import (
	"slices"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		s, hanging string
		want       []string
	}{
		{"", "", nil},
		{"one two three", "", []string{"one two", "three"}},
		{"one  two three", "  ", []string{"one two", "  three"}},
		{"  one two three", "  ", []string{"  one", "    two", "    three"}},
		{"a-very-long-word and", "", []string{"a-very-long-word", "and"}},
		{"日本語 日本", "", []string{"日本語", "日本"}},
	} {
		if got := Wrap(tc.s, 7, tc.hanging); !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.s, got, tc.want)
		}
	}
}
