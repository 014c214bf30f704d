package memoryviz

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"vramscope/internal/quantity"
)

// read reads a file of testdata that scripts/reallibraries/leaks_job.py has written.
func read(t *testing.T, name string) *Snapshot {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// leaks returns the lines of leaks_job.py that leak in each step.
func leaks(t *testing.T) (lines []int) {
	t.Helper()
	source, err := os.ReadFile("../scripts/reallibraries/leaks_job.py")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(line, "# leak") {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// TestLinesOfRealPyTorch: snapshots written by PyTorch's Python and by its C++ have the same lines, and the
// program's own lines are found.
func TestLinesOfRealPyTorch(t *testing.T) {
	for _, release := range []string{"2.15.0", "2.4.1"} {
		native, python := read(t, "native-"+release+".pickle"), read(t, "python-"+release+".pickle")
		if !slices.Equal(native.Lines(), python.Lines()) {
			t.Errorf("%s: C++ has %v,\nPython %v", release, native.Lines(), python.Lines())
		}
		found, why := map[int]Line{}, map[string]Line{}
		for _, l := range native.Lines() {
			if n, ok := l.At.Line.Value(); ok && strings.HasSuffix(string(l.At.File), "/train.py") {
				found[n] = l
			} else {
				why[l.At.Function] = l
			}
		}
		for _, line := range leaks(t) {
			if l := found[line]; l.Bytes == 0 || l.Blocks == 0 || l.Churn == 0 || l.Allocations < l.Blocks {
				t.Errorf("%s: line %d has %+v", release, line, l)
			}
		}
		// The backward pass ran without Python. Parameters and the first step are from before the recording.
		if l := why[noPython.own.Function]; l.Churn == 0 {
			t.Errorf("%s: without Python %+v", release, l)
		}
		if l := why[noLine.own.Function]; l.Bytes < 2<<20 || l.Churn != 0 {
			t.Errorf("%s: without a line %+v", release, l)
		}
		if len(why) != 2 || native.Span <= 0 || native.Span > time.Minute {
			t.Errorf("%s: %v, a history of %v", release, why, native.Span)
		}
	}
}

// TestGrowthFindsEveryLeak: Growth finds every leak between two steps, and no other line of the program.
func TestGrowthFindsEveryLeak(t *testing.T) {
	for _, release := range []string{"2.15.0", "2.4.1"} {
		grown, all := Growth(read(t, "native-"+release+".pickle"), read(t, "after-"+release+".pickle"))
		var lines []int
		var sum quantity.Bytes
		for _, g := range grown {
			sum += g.Grown
			if g.Grown != g.After-g.Before || g.Blocks <= 0 {
				t.Errorf("%s: %+v", release, g)
			}
			if n, ok := g.At.Line.Value(); ok {
				lines = append(lines, n)
			}
		}
		slices.Sort(lines)
		if want := leaks(t); !slices.Equal(lines, want) || len(want) != 10 || sum < all {
			t.Errorf("%s: lines %v, want %v; %d of %d bytes", release, lines, want, sum, all)
		}
	}
}

func TestGrowthWithoutLinesIsBySize(t *testing.T) {
	block := func(size quantity.Bytes) Block { return Block{Size: size, Stack: noLine} }
	grown, all := Growth(&Snapshot{Blocks: []Block{block(512), block(512), block(2048)}}, &Snapshot{Blocks: []Block{block(1024), block(512), block(512), block(512)}})
	if all != 1024+512-2048 || len(grown) != 2 || grown[0].Each.Or(0) != 1024 || grown[1].Each.Or(0) != 512 || grown[1].Blocks != 1 || grown[1].Before != 1024 {
		t.Errorf("%v in all, %+v", all, grown)
	}
}

func TestProfile(t *testing.T) {
	s := read(t, "native-2.15.0.pickle")
	var out bytes.Buffer
	if err := s.Profile(&out, time.Unix(5, 0)); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	var sums [4]int64
	deepest := 0
	for _, sample := range p.Sample {
		for i, n := range sample.Value {
			sums[i] += n
		}
		deepest = max(deepest, len(sample.Location))
	}
	var want [4]int64
	for _, l := range s.Lines() {
		for i, n := range []int64{l.Blocks, int64(l.Bytes), l.Allocations, int64(l.Churn)} {
			want[i] += n
		}
	}
	if sums != want || deepest < 5 || p.TimeNanos != 5e9 || p.DefaultSampleType != "inuse_space" {
		t.Errorf("%v, want %v; stacks of up to %d lines", sums, want, deepest)
	}
}

// TestWhatIsNoSnapshot: Read returns an error for each of these.
func TestWhatIsNoSnapshot(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "cut": "\x80\x02}q\x00X\x08\x00\x00\x00segm", "code": "cos\nsystem\n(S'id'\ntR.", "a number": "K\x05.", "no segments": "}.",
		"a memo far away": "]r\xff\xff\xff\x7f.", "a mark that is not": "]e.", "nothing to extend": "K\x01a.", "an unknown memo": "h\x05.",
		// One list of 90 blocks in 91 segments: more blocks than bytes.
		"many": "}X\x08\x00\x00\x00segments](}X\x06\x00\x00\x00blocks](" + strings.Repeat("}", 90) + "esq\x00" + strings.Repeat("h\x00", 90) + "es.",
	} {
		if s, err := Read(strings.NewReader(content)); err == nil || name == "many" != strings.Contains(err.Error(), "more values than bytes") {
			t.Errorf("%s: it reads %+v: %v", name, s, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"native-2.4.1.pickle", "python-2.15.0.pickle"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := Read(bytes.NewReader(content))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _ = s.Lines(); s.Profile(&out, time.Unix(0, 0)) != nil {
			t.Error("it has no profile")
		}
		Growth(&Snapshot{}, s)
	})
}

// TestFlamesShowWhatIsLive: a call has its share of its caller's width, and hostile names are escaped.
func TestFlamesShowWhatIsLive(t *testing.T) {
	outer, hostile := Frame{File: "a.py", Function: "main"}, Frame{File: "<script>.py", Function: "f"}
	inner := Frame{File: "a.py", Function: "loss"}
	s := &Snapshot{Blocks: []Block{
		{Size: 10, Stack: &Stack{[]Frame{hostile, outer}, hostile}},
		{Size: 30, Stack: &Stack{[]Frame{inner, outer}, inner}},
		{Size: 40, Stack: noLine},
	}}
	var page strings.Builder
	if err := s.Flames(&page, "PID 7"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>PID 7: 80B live</title>",
		`width:50.000%"><p title="40B a.py:0 main">40B main a.py:0<`, `width:75.000%"><p class=own title="30B a.py:0 loss">`,
		`width:25.000%"><p class=own title="10B &lt;script&gt;.py:0 f`, `width:50.000%"><p title="40B (no line`,
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in %s", want, &page)
		}
	}
	if strings.Contains(page.String(), "<script") {
		t.Error(page.String())
	}
}
