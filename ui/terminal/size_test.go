package terminal

import "testing"

func TestLimit(t *testing.T) {
	for _, c := range [][4]int{{80, 24, 80, 24}, {65535, 65535, 2000, 1000}, {1280, 540, 1280, 540}} {
		if width, height := Limit(c[0], c[1]); width != c[2] || height != c[3] {
			t.Errorf("%d×%d: %d×%d", c[0], c[1], width, height)
		}
	}
}
