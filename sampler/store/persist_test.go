package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// reload saves a store and reads it back.
func reload(t *testing.T, s *Store, o Options, series []*Series) (*Store, []*Series) {
	t.Helper()
	var b bytes.Buffer
	if err := s.Save(&b, series); err != nil {
		t.Fatal(err)
	}
	loaded, again, err := Load(&b, o)
	if err != nil || len(again) != len(series) || b.Len() != 0 {
		t.Fatalf("%d of %d series, %d bytes left: %v", len(again), len(series), b.Len(), err)
	}
	return loaded, again
}

// A store that is saved and loaded again and again equals the model at every read.
func TestLoadedStoreEqualsTheModel(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 11))
			interval := []time.Duration{100 * time.Millisecond, time.Second, 4 * time.Second, time.Minute}[seed%4]
			options := Options{
				FullSamples: 50 + random.IntN(500),
				BucketWidth: 5 * time.Second,
				BucketSpan:  interval * time.Duration(800+random.IntN(2500)),
			}
			m := &model{store: New(options)}
			now := time.Unix(1_700_000_000, random.Int64N(1e9))
			for i := range 3000 {
				now = now.Add(interval + time.Duration(random.Int64N(int64(interval)/5)))
				switch random.IntN(200) {
				case 0:
					m.open(random)
				case 1:
					if n := len(m.series); n > 2 {
						s := m.series[random.IntN(n)]
						s.series.Close()
						s.closed = true
					}
				}
				m.tick(t, now, random)
				if i < 3 || random.IntN(250) == 0 {
					m.reload(t, options)
					m.compare(t, random)
				}
			}
			m.reload(t, options)
			m.compare(t, random)
		})
	}
}

// reload puts the loaded store in the place of the one that was saved.
func (m *model) reload(t *testing.T, o Options) {
	t.Helper()
	before := m.store
	var series []*Series
	for _, s := range m.series {
		series = append(series, s.series)
	}
	m.store, series = reload(t, before, o, series)
	for i, s := range m.series {
		s.series = series[i]
	}
	oldest, newest := before.Span()
	if gotOldest, gotNewest := m.store.Span(); !gotOldest.Equal(oldest) || !gotNewest.Equal(newest) {
		t.Fatalf("the span is %v to %v, was %v to %v", gotOldest, gotNewest, oldest, newest)
	}
	if got, want := m.store.Bytes(), before.Bytes(); got < want*8/10 || got > want*12/10 {
		t.Fatalf("%d bytes are held, were %d", got, want)
	}
}

func TestEmptyStoreIsSavedAndLoaded(t *testing.T) {
	s := New(Options{})
	loaded, series := reload(t, s, Options{}, []*Series{s.Open()})
	if _, newest := loaded.Span(); !newest.IsZero() {
		t.Errorf("the newest is %v", newest)
	}
	run(t, loaded, noon, 10, series...)
	if v, _, ok := series[0].At(noon.Add(time.Hour)); !ok || v != 9 {
		t.Errorf("got %d, %v", v, ok)
	}
}

// The wall clock may have been set back while the first process ran.
func TestLoadedStoreKeepsItsShift(t *testing.T) {
	s := New(Options{})
	r := s.Open()
	run(t, s, noon, 600, r)
	next := noon.Add(10*time.Minute - time.Hour)
	if !s.begin(next, time.Second) {
		t.Fatal("refused")
	}
	s.clock = next
	r.Append(600)
	s.Commit()
	loaded, series := reload(t, s, Options{}, []*Series{r})
	run(t, loaded, next.Add(time.Second), 10, series[0])
	if v, _, ok := series[0].At(next.Add(-60 * time.Second)); !ok || v != 540 {
		t.Errorf("a minute before the saving: %d, %v", v, ok)
	}
}

func TestSavedStoreIsCompact(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	b := newBox(670, mixed)
	b.run(4 * 3600)
	var out bytes.Buffer
	if err := b.store.Save(&out, b.series); err != nil {
		t.Fatal(err)
	}
	if held := b.store.Bytes(); int64(out.Len()) > held {
		t.Errorf("%d bytes saved of %d that are held", out.Len(), held)
	}
}

// Any damage to the bytes is an error of its kind.
func TestDamageIsDetected(t *testing.T) {
	s := New(Options{})
	r := s.Open()
	run(t, s, noon, 1000, r)
	var b bytes.Buffer
	if err := s.Save(&b, []*Series{r}); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	random := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		bad := bytes.Clone(good)
		bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
		if _, _, err := Load(bytes.NewReader(bad), Options{}); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
			t.Fatalf("a flipped bit gives %v", err)
		}
		if _, _, err := Load(bytes.NewReader(good[:random.IntN(len(good))]), Options{}); !errors.Is(err, ErrDamaged) {
			t.Fatalf("a cut gives %v", err)
		}
	}
	newer := bytes.Clone(good)
	newer[len(sectionMagic)+4]++
	if _, _, err := Load(bytes.NewReader(newer), Options{}); !errors.Is(err, ErrVersion) {
		t.Errorf("another version gives %v", err)
	}
	if _, _, err := Load(bytes.NewReader(good), Options{FullSamples: 100}); !errors.Is(err, ErrVersion) {
		t.Errorf("other sizes give %v", err)
	}
	refused := errors.New("refused")
	if _, _, err := Load(io.MultiReader(bytes.NewReader(good[:40]), failing{refused}), Options{}); !errors.Is(err, refused) {
		t.Errorf("a reader that fails gives %v", err)
	}
	if err := s.Save(io.Discard, []*Series{New(Options{}).Open()}); err == nil {
		t.Error("another store's series was saved")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Nonsense with a right checksum is either refused, or makes a store that can be
// read and written.
func FuzzLoadTakesAnyBytes(f *testing.F) {
	options := Options{FullSamples: 20, BucketWidth: 5 * time.Second, BucketSpan: 20 * time.Minute}
	s := New(options)
	series := []*Series{s.Open()}
	for i := range 700 {
		if i == 300 || i == 400 {
			series = append(series, s.Open())
		}
		if i == 450 {
			series[1].Close()
		}
		s.Begin(noon.Add(time.Duration(i) * 2 * time.Second))
		for j, r := range series {
			if i%7 != j {
				r.Append(int64(i / 20 << (10 * j)))
			}
		}
		s.Commit()
		if i == 0 || i == 120 || i == 699 {
			var b bytes.Buffer
			if err := s.Save(&b, series); err != nil {
				f.Fatal(err)
			}
			f.Add(b.String()[sectionHeader : b.Len()-4])
		}
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, payload string) {
		s := New(options)
		series, err := s.load(payload)
		if err != nil {
			return
		}
		oldest, newest := s.Span()
		for range 2 {
			for _, r := range series {
				for _, t := range []time.Time{oldest, newest, newest.Add(-time.Minute), noon, {}} {
					r.At(t)
				}
				r.Buckets(oldest.Add(-time.Second), newest, 7)
				r.Buckets(newest.Add(-10*time.Second), newest.Add(time.Second), 30)
			}
			for i := range 3 * blockTicks {
				s.Begin(newest.Add(time.Duration(i+1) * 2 * time.Second))
				for _, r := range series {
					r.Append(int64(i))
				}
				s.Commit()
			}
			oldest, newest = s.Span()
		}
		if err := s.Save(io.Discard, series); err != nil {
			t.Error(err)
		}
	})
}

func TestSectionsFollowEachOther(t *testing.T) {
	var b bytes.Buffer
	for _, payload := range []string{"first", "", strings.Repeat("x", 1<<16)} {
		if err := WriteSection(&b, "test", 3, []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"first", "", strings.Repeat("x", 1<<16)} {
		if got, err := ReadSection(&b, "test", 3); err != nil || got != want {
			t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
		}
	}
	if _, err := ReadSection(&b, "test", 3); !errors.Is(err, ErrDamaged) {
		t.Errorf("behind the last: %v", err)
	}
}
