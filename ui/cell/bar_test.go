package cell

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/themes"
)

func barOf(t testing.TB, parts Parts, capacity quantity.Bytes, cells int) string {
	l := NewLine(cells + 4)
	l.Bar(drawn(t), parts, capacity, cells)
	return strings.TrimRight(l.String(), " ")
}

// TestBarIsWhole: a bar has its full width, whatever the amounts.
func TestBarIsWhole(t *testing.T) {
	for range 5000 {
		var parts Parts
		for i := range parts {
			parts[i] = quantity.Bytes(rand.Int64()>>rand.IntN(63)) * quantity.Bytes(1-2*rand.IntN(2))
		}
		cells := rand.IntN(120)
		if got := text.Width(barOf(t, parts, quantity.Bytes(rand.Int64()>>rand.IntN(63)), cells)); got != cells {
			t.Fatalf("%v in %d cells: %d", parts, cells, got)
		}
	}
}

// TestColourBlindHasTextures: in the theme colorblind, and with 16 colours, no two parts have the same glyph. Otherwise
// all parts but free have one glyph.
func TestColourBlindHasTextures(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256, colorprofile.ANSI} {
		for _, name := range []string{"colorblind", "dark", "light", "high-contrast"} {
			for _, dark := range []bool{true, false} {
				styles, err := themes.New(name, dark, profile)
				if err != nil {
					t.Fatal(err)
				}
				lk := Appearance{Styles: styles, Glyphs: UnicodeGlyphs()}
				glyphs := map[string]bool{}
				for _, ink := range lk.Inks() {
					glyphs[ink.Text] = true
				}
				if textures := name == "colorblind" || profile == colorprofile.ANSI; textures && len(glyphs) != 6 || !textures && len(glyphs) != 2 {
					t.Errorf("%s, dark %v, %v: %d glyphs: %v", name, dark, profile, len(glyphs), glyphs)
				}
			}
		}
	}
}

// TestReservedHasACellOfItsOwn: even the bar of a full GPU ends in this cell. The cell is missing if the driver reserves
// nothing.
func TestReservedHasACellOfItsOwn(t *testing.T) {
	gpu := snapshottest.DrawnBox().GPUs[0]
	gpu.Memory.Used = gpu.Memory.Capacity()
	draw := func() string {
		l := NewLine(24)
		l.MemoryBar(drawn(t), &gpu.Memory, PartsOf(gpu.Parts, gpu.Memory.Used), 20)
		return strings.TrimRight(l.String(), " ")
	}
	if got := draw(); text.Width(got) != 20 || !strings.HasSuffix(got, "│") || strings.Contains(got, "·") {
		t.Errorf("a full GPU is %q", got)
	}
	gpu.Memory.Reserved = snapshot.Bytes{}
	if got := draw(); text.Width(got) != 20 || strings.Contains(got, "│") {
		t.Errorf("without reserved memory it is %q", got)
	}
}

// TestBarMovesOneCell: when a part grows by less than a cell, no boundary moves back or by more than a cell.
func TestBarMovesOneCell(t *testing.T) {
	const cells = 25
	capacity := 79 * quantity.GiB
	grown := Parts{gb, 2 * gb, 10 * gb, 5 * gb, 5 * gb}
	before := ends(barOf(t, grown, capacity, cells))
	for range 400 {
		grown[2] += capacity / cells / 9
		now := ends(barOf(t, grown, capacity, cells))
		for i := range now {
			if now[i] < before[i] || now[i] > before[i]+1 {
				t.Fatalf("boundary %d went from %d to %d at %v", i, before[i], now[i], grown)
			}
		}
		before = now
	}
}

// ends returns where each part of a bar ends.
func ends(bar string) [5]int {
	var at [5]int
	end := 0
	for i, glyph := range []string{"▓", "▄", "█", "▒", "░"} {
		end += strings.Count(bar, glyph)
		at[i] = end
	}
	return at
}

// TestUsedIsNeverDrawnFree: used memory that is in no part is drawn as unknown, not as free.
func TestUsedIsNeverDrawnFree(t *testing.T) {
	used := quantity.From(40*gb, quantity.Driver)
	for name, parts := range map[string]snapshot.Parts{
		"no parts": {},
		"one part": {Allocated: quantity.From(10*gb, quantity.Probe)},
	} {
		if got := ends(barOf(t, PartsOf(parts, used), 80*gb, 20))[4]; got != 10 {
			t.Errorf("%s: 40 of 80 GiB used is drawn in %d of 20 cells", name, got)
		}
	}
}

// TestManyInstances: the bar of 14 instances has its full width.
func TestManyInstances(t *testing.T) {
	gpu := snapshottest.DrawnBox().GPUs[5]
	for len(gpu.Instances) < 14 {
		gpu.Instances = append(gpu.Instances, gpu.Instances[2])
	}
	for cells := 8; cells < 90; cells++ {
		l := NewLine(100)
		l.MIGBar(drawn(t), &gpu, cells, func(in *snapshot.Instance) (Parts, []Piece) {
			if in == nil {
				return PartsOf(gpu.Parts, gpu.Memory.Used), nil
			}
			return PartsOf(in.Parts, in.Memory.Used), nil
		})
		if l.Used() != cells {
			t.Errorf("%d cells are %d", cells, l.Used())
		}
	}
}
