package backtest

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/sorted"
	"vramscope/internal/text"
)

// Sample is the used memory at a time. Total is in bytes; 0 is unknown.
type Sample struct {
	Seconds     float64
	Used, Total int64
	line        int
}

// Series is the samples of one process or GPU, in the order of time.
type Series struct {
	ID      string
	Samples []Sample
	Age     float64 // seconds that its process had run before the first sample; 0: unknown
}

// Step returns the time between the first two samples, in seconds; 1 without a second sample.
func (s *Series) Step() float64 {
	if len(s.Samples) < 2 {
		return 1
	}
	return s.Samples[1].Seconds - s.Samples[0].Seconds
}

// BadRow is a row that was skipped.
type BadRow struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Trace is a recording: its series in order of appearance, and the rows skipped.
type Trace struct {
	Series []*Series
	Bad    []BadRow
}

// ErrNoUsableRow means that nothing in a trace could be read.
var ErrNoUsableRow = errors.New("no usable row")

// columns is the order of columns in a trace without a header.
var columns = [...]string{"t_seconds", "series_id", "used_bytes", "total_bytes"}

// maxTime is the largest time, in seconds: the year 2096 as seconds since 1970. A larger one is
// in milliseconds, or invalid.
const maxTime = 4e9

const longestLine = 64 << 10

// Read reads a trace: lines of t_seconds, series_id, used_bytes, total_bytes, compressed with gzip
// or not, in any order. With a header, the columns may be in any order, with others among them, and
// total_bytes may be missing. Bad lists invalid rows, and rows that repeat a time of a series.
func Read(r io.Reader) (*Trace, error) {
	in := bufio.NewReaderSize(r, longestLine)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) { // a file that is too short fails below
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("unpack a trace: %w", err)
		}
		in = bufio.NewReaderSize(unpacked, longestLine)
	}
	t := &trace{series: make(map[string]*Series), at: [...]int{0, 1, 2, 3}}
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read a trace: line %d: %w", number, err)
		}
		if tooLong {
			t.skip(number, "longer than %d bytes", longestLine)
		} else if failed := t.take(number, string(line)); failed != nil {
			return nil, failed
		}
		if err != nil {
			return t.finish()
		}
	}
}

// trace is the state of Read.
type trace struct {
	Trace
	series map[string]*Series
	at     [len(columns)]int // where each column stands; −1: nowhere
}

func (t *trace) skip(line int, format string, args ...any) {
	t.Bad = append(t.Bad, BadRow{Line: line, Reason: text.Clean(fmt.Sprintf(format, args...))})
}

// take adds a line. The only error is a header without a required column.
func (t *trace) take(number int, line string) error {
	line = strings.TrimRight(line, "\r\n")
	if number == 1 {
		line = strings.TrimPrefix(line, "\ufeff")
	}
	if strings.TrimSpace(line) == "" {
		return nil
	}
	fields, err := split(line)
	if err != nil {
		t.skip(number, "%v", err)
		return nil
	}
	if number == 1 && slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(columns[:], f) }) {
		return t.name(fields)
	}
	s, id, err := t.sample(fields)
	if err != nil {
		t.skip(number, "%v", err)
		return nil
	}
	series := t.series[id]
	if series == nil {
		series = &Series{ID: id}
		t.series[id] = series
		t.Series = append(t.Series, series)
	}
	s.line = number
	series.Samples = append(series.Samples, s)
	return nil
}

func split(line string) ([]string, error) {
	if strings.Contains(line, `"`) {
		fields, err := csv.NewReader(strings.NewReader(line)).Read()
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
			return nil, parse.Err // the error's line number would always be 1
		}
		return fields, err
	}
	fields := strings.Split(line, ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, nil
}

func (t *trace) name(fields []string) error {
	for i, column := range columns {
		t.at[i] = slices.Index(fields, column)
		if t.at[i] < 0 && column != "total_bytes" {
			return fmt.Errorf("read a trace: line 1 names columns, but no %s", column)
		}
	}
	return nil
}

func (t *trace) sample(fields []string) (s Sample, id string, err error) {
	for i, at := range t.at[:3] {
		if at >= len(fields) {
			return s, "", fmt.Errorf("no %s: %d fields", columns[i], len(fields))
		}
	}
	seconds, err := strconv.ParseFloat(fields[t.at[0]], 64)
	switch {
	case err != nil || math.IsNaN(seconds):
		return s, "", fmt.Errorf("t_seconds: %q is not a number", fields[t.at[0]])
	case math.Abs(seconds) > maxTime:
		return s, "", fmt.Errorf("t_seconds: %q is out of range", fields[t.at[0]])
	}
	s.Seconds = seconds
	if id = fields[t.at[1]]; id == "" {
		return s, "", errors.New("series_id is empty")
	}
	if s.Used, err = amount(fields[t.at[2]]); err != nil {
		return s, "", fmt.Errorf("used_bytes: %w", err)
	}
	if at := t.at[3]; at >= 0 && at < len(fields) && fields[at] != "" {
		if s.Total, err = amount(fields[at]); err != nil {
			return s, "", fmt.Errorf("total_bytes: %w", err)
		}
	}
	return s, id, nil
}

// amount reads a number of bytes, which other programs may write as "1.5e10" or "42.0".
func amount(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, failed := strconv.ParseFloat(s, 64)
		if failed != nil || math.IsNaN(f) {
			return 0, fmt.Errorf("%q is not a number", s)
		}
		v = int64(math.Round(min(max(f, -1), 1<<62)))
	}
	if v < 0 || v >= 1<<62 {
		return 0, fmt.Errorf("%q is out of range", s)
	}
	return v, nil
}

// finish sorts the samples and removes repeated times.
func (t *trace) finish() (*Trace, error) {
	for _, s := range t.Series {
		sorted.Stable(s.Samples, func(a, b Sample) int { return cmp.Compare(a.Seconds, b.Seconds) })
		kept := s.Samples[:1]
		for _, sample := range s.Samples[1:] {
			if sample.Seconds == kept[len(kept)-1].Seconds {
				t.skip(sample.line, "series %q has this time already", s.ID)
				continue
			}
			kept = append(kept, sample)
		}
		s.Samples = kept
	}
	sorted.Stable(t.Bad, func(a, b BadRow) int { return cmp.Compare(a.Line, b.Line) })
	if len(t.Series) == 0 {
		return &t.Trace, fmt.Errorf("read a trace: %w", ErrNoUsableRow)
	}
	return &t.Trace, nil
}
