package backtest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func read(t *testing.T, text string) *Trace {
	t.Helper()
	trace, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// bare returns samples without the lines they came from.
func bare(s *Series) []Sample {
	var out []Sample
	for _, sample := range s.Samples {
		sample.line = 0
		out = append(out, sample)
	}
	return out
}

func TestReadAcceptsManyLayouts(t *testing.T) {
	want := []Sample{{Seconds: 0, Used: 10, Total: 100}, {Seconds: 1.5, Used: 20}}
	for name, text := range map[string]string{
		"plain":            "t_seconds,series_id,used_bytes,total_bytes\n0,a,10,100\n1.5,a,20,0\n",
		"no titles":        "0,a,10,100\n1.5,a,20,\n",
		"no last line end": "0,a,10,100\n1.5,a,20",
		"from Windows":     "\ufefft_seconds,series_id,used_bytes,total_bytes\r\n0,a,10,100\r\n\r\n1.5,a,20,0\r\n",
		"other columns":    "host,used_bytes,t_seconds,total_bytes,series_id\nx,10,0,100,a\nx,20,1.5,,a\n",
		"not in order":     "1.5,a,20,0\n0,a,10,100\n",
		"fractions":        "0.0,a,10.0,1e2\n1.5,a,20.0,0.0\n",
		"quotes":           "0,\"a\",10,100\n1.5,\"a\",\"20\",0\n",
	} {
		trace := read(t, text)
		if len(trace.Series) != 1 || trace.Series[0].ID != "a" || !reflect.DeepEqual(bare(trace.Series[0]), want) || len(trace.Bad) > 0 {
			t.Errorf("%s: %+v", name, trace)
		}
	}
}

func TestReadAcceptsGzip(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("0,a,10,100\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	trace, err := Read(bytes.NewReader(packed.Bytes()))
	if err != nil || len(trace.Series) != 1 {
		t.Errorf("%+v, %v", trace, err)
	}
	if _, err := Read(bytes.NewReader(packed.Bytes()[:packed.Len()-6])); err == nil {
		t.Error("half a file is read without an error")
	}
}

func TestBadRowsHaveTheirLine(t *testing.T) {
	text := "0,a,10,100\n" + "1,a\n" + "x,a,1,1\n" + "1e12,a,1,1\n" + "2,a,-5,1\n" + "3,a,NaN,1\n" + "4,a,1,x\n" +
		"5,\"a,1,1\n" + strings.Repeat("9", longestLine+10) + "\n" + "0,a,11,100\n" + "6,a,12,100\n"
	trace := read(t, text)
	var lines []int
	for _, row := range trace.Bad {
		lines = append(lines, row.Line)
	}
	if want := []int{2, 3, 4, 5, 6, 7, 8, 9, 10}; !reflect.DeepEqual(lines, want) {
		t.Errorf("skipped %v, want %v", trace.Bad, want)
	}
	if got := bare(trace.Series[0]); len(got) != 2 || got[0].Used != 10 || got[1].Used != 12 {
		t.Errorf("%+v", got)
	}
}

func TestReadWithoutUsableRowFails(t *testing.T) {
	for _, text := range []string{"", "\n\n", "t_seconds,series_id,used_bytes,total_bytes\n", "a,b,c,d\n"} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrNoUsableRow) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Read(strings.NewReader("t_seconds,used_bytes\n0,1\n")); err == nil {
		t.Error("a trace without a column of series is read")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("t_seconds,series_id,used_bytes,total_bytes\n0,a,10,100\n")
	f.Add("0,\"a\n1,b,,\n-1,a,1e300,NaN\n\x1f\x8b")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, s := range trace.Series {
			for i, sample := range s.Samples {
				if sample.Used < 0 || sample.Total < 0 || i > 0 && !(sample.Seconds > s.Samples[i-1].Seconds) {
					t.Fatalf("%+v", s.Samples)
				}
			}
			Replay(&stub{}, s, nil)
		}
	})
}
