package ui

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/gpus"
)

// TestFitIsHeadroom: in 1,000 random states H shows the verdict of package headroom for each GPU.
func TestFitIsHeadroom(t *testing.T) {
	random := rand.New(rand.NewPCG(35, 1))
	m := newTestModel(t, snapshottest.DrawnBox(), func(o *Options) { o.History = snapshottest.History(snapshottest.DrawnBox()) })
	seen := map[headroom.Verdict]int{}
	for i := range 1000 {
		s := snapshottest.DrawnBox()
		s.Alerts = nil
		for j := range s.GPUs {
			g := &s.GPUs[j]
			g.Memory.Free = quantity.From(quantity.Bytes(random.Int64N(int64(40*gb))), quantity.Driver)
			if random.IntN(9) == 0 {
				g.Memory.Free = snapshot.Bytes{}
			}
			if g.FullIn = nil; random.IntN(3) == 0 {
				g.FullIn = &snapshot.FullIn{Median: 4 * time.Minute}
			}
		}
		for j := range s.Rows {
			if p := &s.Rows[j]; p.Returnable.Or(0) > 0 {
				p.Returnable = quantity.From(quantity.Bytes(random.Int64N(int64(20*gb))), quantity.Computed)
			}
		}
		m.takeSnapshot(s)
		need := []string{"1G", "5G", "12.5G", "20G", "2x20G", "4x8G", "30GB"}[random.IntN(7)]
		m.setNeed(need)
		question, ok := headroom.ParseNeed(need)
		if !ok {
			t.Fatal(need)
		}
		want := headroom.Judge(s, m.st.history, question)
		_, answer, found := strings.Cut(m.st.fitWords(400), "need "+need+": ")
		if !found {
			t.Fatalf("no answer to %s", need)
		}
		got := verdictsIn(answer)
		for _, p := range want.Places {
			seen[p.Verdict]++
			if got[p.Label] != gpus.VerdictWords(p.Verdict) {
				t.Fatalf("state %d: GPU %s is %q, headroom says %q: %s", i, p.Label, got[p.Label], p.Verdict, answer)
			}
		}
		if question.Count > 1 && !strings.HasPrefix(answer, gpus.VerdictWords(want.Answer)+": GPU ") {
			t.Fatalf("state %d: headroom says %s: %s", i, want.Answer, answer)
		}
	}
	if len(seen) < 4 {
		t.Errorf("not every verdict was tried: %v", seen)
	}
}

// verdictsIn returns the verdicts by GPU: "GPU 4, 6 yes; 0 after a flush (13G); 3 no, full in 4m".
func verdictsIn(answer string) map[string]string {
	verdicts := map[string]string{}
	for group := range strings.SplitSeq(answer[strings.Index(answer, "GPU ")+4:], ";") {
		for _, words := range regexp.MustCompile(`^ ?([\d:]+(?:, [\d:]+)*) (yes|after a flush|no|unknown)`).FindAllStringSubmatch(group, 1) {
			for label := range strings.SplitSeq(words[1], ", ") {
				verdicts[label] = words[2]
			}
		}
	}
	return verdicts
}

func TestFitStaysUntilEsc(t *testing.T) {
	box := snapshottest.DrawnBox()
	box.Alerts = nil
	m := newTestModel(t, box, func(o *Options) { o.History = snapshottest.History(box) })
	m.press("H")
	m.shows("how much will the job use")
	m.press("2", "0")
	m.shows("how much will the job use") // "20" is no size: 20 bytes always fit
	m.press("G")
	m.shows("need 20G: GPU 4 yes;")
	m.shows("+++")
	m.shows("fits after a flush")
	m.press("enter", "j")
	m.shows("need 20G: GPU 4 yes;")
	m.press("H", "backspace", "backspace", "5", "G", "esc") // Esc restores the former size
	m.shows("need 20G: GPU 4 yes;")
	m.press("esc")
	m.hides("need 20G")
	m.hides("+++")
	m.press("H", "x", "enter")
	if m.st.need != "" {
		t.Errorf("what is no size stays: %q", m.st.need)
	}
	m.shows("not a size: x; H takes 20G, 512M")
	m.send(tea.WindowSizeMsg{Width: 80, Height: 10}) // the alert and the keys share a line
	m.press("H", " ", "enter")
	m.hides("not a size:  ")
	m.press("H", "2", "0", "G", "enter")
	m.shows("need 20G: GPU 4 yes")
	m.st.shown = nil // nothing has been read yet
	m.press("H", "enter")
	m.hides("not a size: 20G")
}
