package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// fakeSSH returns a source with a script in place of ssh, which gets the destination and the command.
func fakeSSH(t *testing.T, script string, hosts ...string) *SSH {
	t.Helper()
	folder := t.TempDir()
	var line bytes.Buffer
	if err := json.NewEncoder(&line).Encode(schema.Of(snapshottest.DrawnBox())); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "line"), line.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "ssh")
	text := "#!/bin/sh\nLINE=" + filepath.Join(folder, "line") + "\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nhost=$1; shift\n" + script
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	s := NewSSH(hosts, time.Now)
	s.ssh[0] = program
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	settling, end := context.WithTimeout(ctx, 30*time.Second)
	defer end()
	s.Settle(settling)
	return s
}

func lookOver(t *testing.T, s *SSH, filter string) *Picture {
	t.Helper()
	f, err := ParseFilter(filter)
	if err != nil {
		t.Fatal(err)
	}
	pic, err := s.Look(t.Context(), Query{Lines: 100, Fit: 100, Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	return pic
}

// TestSSHLines: some boxes answer, some refuse, and some have no vramscope.
func TestSSHLines(t *testing.T) {
	s := fakeSSH(t, `
[ "$*" = "vramscope stream" ] || exit 99
case $host in
good) cat $LINE; exec sleep 60 ;;
newer) sed 's/"schema":/"something_new":{"a":[1]},"schema":/; s/"index":/"quantum_bits":7,"index":/g' $LINE; exec sleep 60 ;;
driverless) printf 'Warning: banner\nvramscope: no NVIDIA driver library on gpu7\n\n  not sure          vramscope doctor\n' >&2; exit 12 ;;
older) printf 'vramscope: unknown command: stream\n  commands: once, run\n' >&2; exit 2 ;;
refusing) printf 'warning\nroot@refusing: Permission denied \033[31m(publickey).\n' >&2; exit 255 ;;
*@bare) exit 127 ;;
esac`, "good", "newer", "driverless", "older", "refusing", "alice@bare")
	pic := lookOver(t, s, "")
	gpus := len(snapshottest.DrawnBox().GPUs)
	whys := map[string]string{}
	answering := map[string]int{}
	for _, l := range pic.Lines {
		if l.State == Down {
			whys[l.Name()] = l.Why
		} else {
			answering[l.Name()]++
		}
	}
	if answering["good"] != gpus || answering["newer"] != gpus {
		t.Errorf("lines: %v, want %d of each", answering, gpus)
	}
	if !strings.HasPrefix(whys["refusing"], "root@refusing: Permission denied") || strings.Contains(whys["refusing"], "\x1b") || whys["bare"] != "vramscope is not installed there, or not in its PATH" {
		t.Errorf("whys: %q", whys)
	}
	if whys["driverless"] != "no NVIDIA driver library on gpu7" || whys["older"] != "unknown command: stream" {
		t.Errorf("vramscope says %q", whys)
	}
	if l := pic.Lines[0]; l.Alert != snapshot.AlertFullIn || l.Severity != snapshot.Urgent {
		t.Errorf("the worst is %+v", l)
	}
	if pic := lookOver(t, s, "user=carol host=good"); len(pic.Lines) != 1 || pic.Lines[0].User != "carol" || pic.Down.Or(-1) != 0 {
		t.Errorf("carol's: %d lines", len(pic.Lines))
	}
	carols, _ := ParseFilter("user=carol host=good")
	var hers snapshot.GPU
	for _, row := range snapshottest.DrawnBox().Rows {
		if row.User == "carol" {
			sum(&hers, &snapshot.GPU{Memory: snapshot.Memory{Used: row.Used}})
		}
	}
	if users, err := s.Look(t.Context(), Query{Lines: 9, Unit: Users, Filter: carols}); err != nil || len(users.Lines) != 1 || users.Lines[0].GPU.Memory.Used.Or(0) != hers.Memory.Used.Or(1) || users.Lines[0].GPUs != 1 || users.Lines[0].Name() != "carol" {
		t.Errorf("carol has %v: %+v, %v", hers.Memory.Used, users, err)
	}
	if sums, err := s.Totals(t.Context(), Query{Filter: carols}); err != nil || sums.GPUs.Or(0) != 1 || !sums.Own || sums.Memory.Used.Or(0) != hers.Memory.Used.Or(1) {
		t.Errorf("carol's: %+v, %v", sums, err)
	}
	if room, err := s.Room(t.Context(), RoomQuery{Need: 1, Count: 1, Boxes: 9, Filter: carols}); err != nil || room.Judged != 1 {
		t.Errorf("carol's: %+v, %v", room, err)
	}
	everywhere := func(need quantity.Bytes, count int, horizons ...time.Duration) Room {
		r, err := s.Room(t.Context(), RoomQuery{Need: need, Count: count, Boxes: 9, Length: time.Duration(len(horizons)) * time.Minute, Horizons: horizons})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := everywhere(quantity.TiB, 1); len(r.Nearest) != 2 || r.Nearest[0].GPUs != 0 || r.Nearest[0].Short != quantity.TiB-mostAfterFlush(snapshottest.DrawnBox()) {
		t.Errorf("nothing has a TiB: %+v", r)
	}
	if r := everywhere(1, 99); len(r.Nearest) != 0 || r.Largest == 0 || r.Largest > gpus {
		t.Errorf("no box has 99 GPUs: %+v", r)
	}
	if r := everywhere(1, 1, time.Minute); r.Judged != 0 && r.Judged == everywhere(1, 1).Judged {
		t.Errorf("without a forecast a GPU is judged: %+v", r)
	}
	if pic.Down.Or(-1) != 4 {
		t.Errorf("%v are down", pic.Down)
	}
	if pic := lookOver(t, s, "state=down"); len(pic.Lines) != 4 {
		t.Errorf("down: %d lines", len(pic.Lines))
	}
	sums, err := s.Totals(t.Context(), Query{})
	if err != nil || sums.Boxes.Or(0) != 6 || sums.Down.Or(0) != 4 || !sums.Memory.Used.Known() {
		t.Errorf("%+v, %v", sums, err)
	}
	if sums, err = s.Totals(t.Context(), Query{Filter: Filter{{InHost, "refusing"}}}); err != nil || sums.Boxes.Or(0) != 1 || sums.Down.Or(0) != 1 || sums.Memory.Used.Known() {
		t.Errorf("of one host: %+v, %v", sums, err)
	}
	box, err := s.Box(t.Context(), "good", time.Time{})
	if err != nil || len(box.GPUs) != gpus || len(box.Rows) == 0 {
		t.Errorf("good: %v", err)
	}
	if _, err := s.Box(t.Context(), "refusing", time.Time{}); err == nil || !strings.Contains(err.Error(), "denied") {
		t.Errorf("refusing: %v", err)
	}
}

// TestSSHLimits: the output of a box is limited in size, checked and cleaned.
func TestSSHLimits(t *testing.T) {
	s := fakeSSH(t, `
case $host in
endless) exec head -c 20000000 /dev/zero ;;
nojson) printf 'Welcome to \033[2Jthis box\n'; exec sleep 60 ;;
old) echo '{"schema":"vramscope/0"}'; exec sleep 60 ;;
many) printf '{"schema":"vramscope/1","gpus":['; i=0; while [ $i -lt 400 ]; do printf '{"index":%s,"uuid":"GPU-%s"},' $i $i; i=$((i+1)); done; printf '{"index":400,"uuid":"x"}],"driver":{"state":"ok"}}\n'; exec sleep 60 ;;
esac`, "endless", "nojson", "old", "many")
	whys := map[string]string{}
	gpus := 0
	for _, l := range lookOver(t, s, "").Lines {
		if l.Name() == "many" {
			gpus++
		} else {
			whys[l.Name()] = l.Why
		}
	}
	for name, want := range map[string]string{"endless": "more than 8 MiB", "nojson": "does not send JSON: Welcome to", "old": `the schema "vramscope/0"`} {
		if !strings.Contains(whys[name], want) || strings.Contains(whys[name], "\x1b") {
			t.Errorf("%s: %q, want %q", name, whys[name], want)
		}
	}
	if gpus == 0 || gpus > mostGPUs {
		t.Errorf("%d GPUs of one box", gpus)
	}
}

// TestSSHComesBack: a stream that ends is started again. A stream that sends nothing has old figures.
func TestSSHComesBack(t *testing.T) {
	s := fakeSSH(t, `cat $LINE; [ -e $LINE.again ] && exec sleep 60; touch $LINE.again; exit 1`, "flaky")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if pic := lookOver(t, s, ""); pic.Lines[0].State == OK {
			s.boxes[0].mu.Lock()
			came := s.boxes[0].came
			s.boxes[0].mu.Unlock()
			if _, err := os.Stat(strings.TrimSuffix(s.ssh[0], "ssh") + "line.again"); err == nil && !came.IsZero() {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatal("it does not come back")
		}
	}
	if l, _ := s.boxes[0].line(time.Now().Add(time.Minute)); l.State != Stopped || !strings.HasPrefix(l.Why, "no sample for") {
		t.Errorf("%+v", l)
	}
}

func TestClockThatDiffersIsSaid(t *testing.T) {
	s := fakeSSH(t, `cat $LINE; exec sleep 60`, "good")
	pic := lookOver(t, s, "")
	if len(pic.Problems) != 1 || !strings.HasPrefix(pic.Problems[0], "the clock of good differs by") {
		t.Errorf("%q: the drawn box is of another day", pic.Problems)
	}
}

// TestSSHWithoutLinesIsClosed: one connection sends nothing, and one never ends its first line.
func TestSSHWithoutLinesIsClosed(t *testing.T) {
	s := NewSSH([]string{"silent", "trickling"}, time.Now)
	s.quiet = 300 * time.Millisecond
	s.ssh[0] = filepath.Join(t.TempDir(), "ssh")
	script := "#!/bin/sh\ncase \"$*\" in *silent*) exec sleep 1000 ;; esac\nwhile :; do printf y; sleep .01; done\n"
	if err := os.WriteFile(s.ssh[0], []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, b := range s.boxes {
		if err := s.follow(t.Context(), b); err == nil || !strings.HasPrefix(err.Error(), "it has sent no whole line for") {
			t.Errorf("%s: %v", b.host, err)
		}
	}
}

// mostAfterFlush returns the most memory that a whole GPU would have free after a flush.
func mostAfterFlush(snap *snapshot.Snapshot) (most quantity.Bytes) {
	for i := range snap.GPUs {
		if g := &snap.GPUs[i]; !g.MIG && len(g.Instances) == 0 && g.State == snapshot.GPUOK {
			most = max(most, g.Memory.Free.Or(0)+g.Parts.Returnable.Or(0))
		}
	}
	return most
}
