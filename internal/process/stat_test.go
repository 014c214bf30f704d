package process

import (
	"os"
	"strings"
	"testing"
	"time"
)

const statTail = " S 41 7 7 0 -1 4194304 100 0 3 0 250 150 0 0 20 0 12 0 987654 4096000 2048 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

func TestStatSurvivesAnyName(t *testing.T) {
	for _, name := range []string{
		"python3", "", "a b", ") S 1 (", "(((", ")))", "new\nline", "\x1b[31mred", "\xff\xfe", "tmux: server",
	} {
		s, err := parseStat([]byte("123 (" + name + ")" + statTail))
		if err != nil {
			t.Errorf("name %q: %v", name, err)
			continue
		}
		if string(s.comm) != name || s.parent != 41 || s.ticks != 400 || s.start != 987654 || s.resident != 2048 {
			t.Errorf("name %q: got %+v (comm %q)", name, s, s.comm)
		}
	}
}

func TestMalformedStatIsAnError(t *testing.T) {
	for _, line := range []string{
		"", "123", "123 (", "123 )x(", "123 (python3)", "123 (python3) S 1 2 3",
		strings.Replace("1 (x)"+statTail, "987654", "98765x", 1),
		strings.Replace("1 (x)"+statTail, "987654", "-5", 1),
		strings.Replace("1 (x)"+statTail, "987654", "99999999999999999999999", 1),
		strings.Replace("1 (x)"+statTail, "987654", "9223372036854775807", 1),
		strings.Replace("1 (x)"+statTail, " 2048 ", " 9223372036854775807 ", 1),
	} {
		if s, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q gave %+v", line, s)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("123 (python3)" + statTail))
	f.Add([]byte("1 (a) b) S"))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := parseStat(line)
		if err != nil {
			return
		}
		bytes, started := s.resident*int64(os.Getpagesize()), time.Unix(0, 0).Add(SinceBoot(s.start))
		if s.parent < 0 || s.resident < 0 || bytes < s.resident || started.Before(time.Unix(0, 0)) {
			t.Errorf("%q: %+v: %d bytes, started %v", line, s, bytes, started)
		}
	})
}

func BenchmarkParseStat(b *testing.B) {
	line := []byte("123 (python3)" + statTail)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseStat(line); err != nil {
			b.Fatal(err)
		}
	}
}
