package store

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// reload saves a store and reads it back, through gob as a process does.
func reload(t *testing.T, s *Store, o Options, series []*Series) (*Store, []*Series) {
	t.Helper()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s.Save(series)); err != nil {
		t.Fatal(err)
	}
	var saved Saved
	if err := gob.NewDecoder(&b).Decode(&saved); err != nil {
		t.Fatal(err)
	}
	loaded, again, err := Load(&saved, o)
	if err != nil || len(again) != len(series) {
		t.Fatalf("%d of %d series: %v", len(again), len(series), err)
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
	if err := gob.NewEncoder(&out).Encode(b.store.Save(b.series)); err != nil {
		t.Fatal(err)
	}
	if held := b.store.Bytes(); int64(out.Len()) > held {
		t.Errorf("%d bytes saved of %d that are held", out.Len(), held)
	}
}

// A store of another layout or of other sizes starts over.
func TestOtherVersionsAreRefused(t *testing.T) {
	for _, change := range []func(*Saved, *Options){
		func(s *Saved, _ *Options) { s.Layout++ },
		func(_ *Saved, o *Options) { o.FullSamples = 77 },
		func(s *Saved, _ *Options) { *s = Saved{} },
	} {
		saved, options := New(Options{}).Save(nil), Options{}
		change(saved, &options)
		if _, _, err := Load(saved, options); !errors.Is(err, ErrVersion) {
			t.Errorf("%+v: %v", options, err)
		}
	}
	if _, _, err := Load(nil, Options{}); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
}
