package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/daemon/leasing"
	"vramscope/guard"
	"vramscope/internal/needs"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/lease"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// serveLeases serves as a daemon with a ledger of eight empty GPUs of 80 GiB, which it samples 50
// times a second.
func serveLeases(t testing.TB, share Share) (directory string, keeper *leasing.Keeper) {
	t.Helper()
	directory, err := os.MkdirTemp("", "vs") // the path of a socket is short
	if err == nil {
		err = os.Chmod(directory, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	table := process.NewTable("/proc")
	keeper, err = leasing.Open(leasing.Options{
		Directory: directory, Reserve: quantity.GiB, Importance: (&guard.Policy{}).OfClaims(), Table: table, Now: time.Now, Note: func(snapshot.Event) {}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(Options{
		Directory: directory, Share: share, Latest: func() *snapshot.Snapshot { return nil }, Status: func() Status { return Status{Leases: true} },
		Leaser: keeper, Identify: table.Identify, Owner: table.Owner,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Serve(ctx) })
	running.Go(func() { keeper.Run(ctx) })
	running.Go(func() {
		for ctx.Err() == nil {
			snap := &snapshot.Snapshot{Time: time.Now(), Driver: snapshot.Driver{State: snapshot.DriverOK}}
			all := quantity.From(80*quantity.GiB, quantity.Driver)
			for i := range 8 {
				snap.GPUs = append(snap.GPUs, snapshot.GPU{Index: i, UUID: fmt.Sprint("GPU-", i), State: snapshot.GPUOK, ProcessCount: quantity.From(0, quantity.Driver),
					Memory: snapshot.Memory{Total: all, Free: all}})
			}
			keeper.Observe(snap)
			pause(ctx, 20*time.Millisecond)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait(); _ = os.RemoveAll(directory) })
	return directory, keeper
}

// TestThousandClaimsNeverOvercommit: a thousand claims come at once, each on its own connection.
func TestThousandClaimsNeverOvercommit(t *testing.T) {
	directory, keeper := serveLeases(t, mustShare(t, "none"))
	places := []Place{{directory, uint32(os.Geteuid())}}
	var mu sync.Mutex
	held, most := map[string]quantity.Bytes{}, quantity.Bytes(0)
	var running sync.WaitGroup
	claims, holding := 1000, 5*time.Millisecond
	if testing.Short() { // under the race detector the thousand claims take a minute of a core
		claims, holding = 200, 25*time.Millisecond
	}
	for i := range claims {
		running.Go(func() {
			claim := Claim{Ask: lease.Ask{Claim: lease.Claim{Need: 15 * quantity.GiB, Count: 1 + i%2}, Wait: time.Minute}}
			given, err := ClaimLease(context.Background(), places, claim, func(schema.Lease) {})
			if err != nil {
				t.Error(err)
				return
			}
			count := func(sign quantity.Bytes) {
				mu.Lock()
				defer mu.Unlock()
				for _, g := range given.GPUs {
					held[g.UUID] += sign * claim.Need
					most = max(most, held[g.UUID])
				}
			}
			count(1)
			time.Sleep(holding)
			count(-1)
			if _, err := keeper.Release(uint32(os.Geteuid()), string(given.ID)); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if most > 79*quantity.GiB || most < 60*quantity.GiB {
		t.Errorf("at most %s of a GPU were promised", most)
	}
}

// TestClaimIsGivenUpWithoutADaemon: a claim that has waited is given up after twenty seconds without a
// daemon, even if it may wait for longer, and a new claim at once. While the daemon has too many connections
// or claims, a claim is given up when its wait is over, and not before twenty seconds.
func TestClaimIsGivenUpWithoutADaemon(t *testing.T) {
	owner := uint32(os.Geteuid())
	none := Place{t.TempDir(), owner}
	full, _ := flooded(t)
	crowded, _ := scripted(t, slices.Repeat([]string{`false,"error":{"code":"busy"}`}, 60)...)
	for _, c := range []struct {
		ticket           string
		at               Place
		wait, want, late time.Duration
	}{
		{"", none, time.Hour, 0, 0}, {"a", none, time.Hour, 20 * time.Second, againPause}, {"", crowded, 0, 20 * time.Second, againPause},
		{"", Place{full, owner}, 0, 20 * time.Second, 2*connectTime + againPause}, {"a", Place{full, owner}, time.Minute, time.Minute, connectTime + againPause},
	} {
		synctest.Test(t, func(t *testing.T) {
			claim, began := Claim{Ask: lease.Ask{Ticket: c.ticket, Wait: c.wait}}, time.Now()
			_, err := ClaimLease(t.Context(), []Place{c.at}, claim, func(schema.Lease) {})
			if late := time.Since(began) - c.want; Busy(err) != (c.at != none) || Absent(err) != (c.at == none) || late < 0 || late > c.late {
				t.Errorf("%+v: after %v, %v", c, c.want+late, err)
			}
		})
	}
}

// TestBusyDaemonMayRestart: the twenty seconds without a daemon begin when it no longer answers, and those
// of a busy one begin again when it has taken the claim.
func TestBusyDaemonMayRestart(t *testing.T) {
	const waiting, busy, granted = `true,"waiting":{"id":"a"}`, `false,"error":{"code":"busy"}`, `true,"lease":{"id":"a"}`
	gone, _ := scripted(t, append([]string{waiting}, slices.Repeat([]string{busy}, 60)...)...)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now() // at most 53 s of pauses between the answers, about 40
		_, err := ClaimLease(t.Context(), []Place{gone}, Claim{Ask: lease.Ask{Wait: time.Hour}}, func(schema.Lease) {})
		if lasted := time.Since(began); err == nil || Busy(err) || lasted < 53*time.Second {
			t.Errorf("given up after %v: %v", lasted, err)
		}
	})
	often := slices.Repeat([]string{busy}, 20) // 10 s, and then 15 s
	again, _ := scripted(t, slices.Concat(often, []string{waiting}, often, []string{granted})...)
	synctest.Test(t, func(t *testing.T) {
		if given, err := ClaimLease(t.Context(), []Place{again}, Claim{Ask: lease.Ask{Wait: time.Millisecond}}, func(schema.Lease) {}); err != nil || given.ID != "a" {
			t.Errorf("%+v, %v", given, err)
		}
	})
}

// scripted returns the place of a daemon that keeps leases, and the claims that it was sent. On each of its
// connections it answers a claim with one of these texts, and hangs up.
func scripted(t *testing.T, answers ...string) (place Place, asked <-chan request) {
	t.Helper()
	directory, claims := t.TempDir(), make(chan request, len(answers))
	listener, err := net.Listen("unix", filepath.Join(directory, Name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // listener may be closed
	go func() {
		for _, answer := range answers {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			in, r := bufio.NewScanner(conn), request{}
			in.Scan()
			fmt.Fprintln(conn, `{"id":1,"ok":true,"daemon":{"leases":true}}`)
			if in.Scan() && json.Unmarshal(in.Bytes(), &r) == nil {
				claims <- r
			}
			fmt.Fprintf(conn, `{"id":2,"ok":%s}`+"\n", answer)
			_ = conn.Close() // the client may have closed its end
		}
		_ = listener.Close() // nothing is left to answer
	}()
	return Place{directory, uint32(os.Geteuid())}, claims
}

// TestClaimIsMadeAgain: a claim is made again, for the rest of its wait, if the daemon goes away while the claim
// waits or is too busy. A refusal is the answer.
func TestClaimIsMadeAgain(t *testing.T) {
	const waiting, refused, granted = `true,"waiting":{"id":"a"}`, `false,"error":{"code":"no_room"}`, `true,"lease":{"id":"b"}`
	for name, c := range map[string]struct {
		answers []string
		wait    time.Duration
		ticket  string // of the second claim
		given   string
	}{
		"a restart": {[]string{waiting, granted}, time.Minute, "a", "b"}, "busy": {[]string{`false,"error":{"code":"busy"}`, granted}, 0, "", "b"},
		"a refusal": {[]string{refused, granted}, time.Minute, "", ""}, "a refusal after a restart": {[]string{waiting, refused, granted}, time.Minute, "a", ""},
	} {
		place, asked := scripted(t, c.answers...)
		given, err := ClaimLease(t.Context(), []Place{place}, Claim{Ask: lease.Ask{Wait: c.wait}}, func(schema.Lease) {})
		if string(given.ID) != c.given || (err == nil) != (c.given != "") {
			t.Errorf("%s: %+v, %v", name, given, err)
		}
		if first := <-asked; first.WaitNS != int64(c.wait) || first.Lease != "" {
			t.Errorf("%s: first claim %+v", name, first)
		}
		if name == "a refusal" {
			continue
		}
		if again := <-asked; again.Lease != c.ticket || c.wait == 0 && again.WaitNS != 0 || c.wait > 0 && (again.WaitNS <= 0 || again.WaitNS >= int64(c.wait)) {
			t.Errorf("%s: second claim %+v", name, again)
		}
	}
}

// TestPausesBetweenClaims: a client makes its claim again after 5 to 10 ms, and each time after twice as long,
// up to a second.
func TestPausesBetweenClaims(t *testing.T) {
	answers := append(slices.Repeat([]string{`true,"waiting":{"id":"a"}`}, 12), `true,"lease":{"id":"a"}`)
	place, _ := scripted(t, answers...)
	synctest.Test(t, func(t *testing.T) {
		last, most := time.Time{}, 10*time.Millisecond
		_, err := ClaimLease(t.Context(), []Place{place}, Claim{Ask: lease.Ask{Wait: time.Hour}}, func(schema.Lease) {
			if now := time.Now(); !last.IsZero() {
				if paused := now.Sub(last); paused < most/2 || paused >= most+wakeUp {
					t.Errorf("after %v, want %v to %v", paused, most/2, most)
				}
				most = min(2*most, time.Second)
			}
			last = time.Now()
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestClosedConnectionLeavesTheQueue: when a waiting connection closes, the next claim has its turn.
func TestClosedConnectionLeavesTheQueue(t *testing.T) {
	directory, _ := serveLeases(t, mustShare(t, "none"))
	claim := func(need int) *net.UnixConn {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(directory, Name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // conn may be closed
		fmt.Fprintf(conn, `{"id":1,"cmd":"lease_claim","bytes":%d,"count":8,"self":true,"wait_ns":60000000000}`+"\n", need<<30)
		return conn
	}
	answer := func(conn *net.UnixConn, has string) {
		t.Helper()
		buf, got := make([]byte, 4096), ""
		for _ = conn.SetReadDeadline(time.Now().Add(30 * time.Second)); !strings.Contains(got, has); {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("%v after %s, without %s", err, got, has)
			}
			got += string(buf[:n])
		}
	}
	first := claim(60)
	answer(first, `"lease":{"id":"`)
	second := claim(70)
	answer(second, `"waiting":{"id":"`)
	third := claim(10)
	answer(third, `1 before you`)
	_ = second.Close()
	answer(third, `"lease":{"id":"`)
}

// TestOthersClaim: other users claim for their own processes only, and see each other's leases without
// ID and command.
func TestOthersClaim(t *testing.T) {
	directory, _ := serveLeases(t, mustShare(t, "all"))
	got := as(t, alice, alice, directory, `{"id":1,"cmd":"lease_claim","bytes":1073741824,"count":1,"command":"train.py"}
{"id":2,"cmd":"lease_claim","bytes":1073741824,"count":1,"pid":`+fmt.Sprint(os.Getpid())+`}
{"id":3,"cmd":"leases"}
`)
	for _, want := range []string{`"command":"train.py"`, `"id":2,"ok":false,"error":{"code":"forbidden","message":"PID`, `"leases":[{"id":"`} {
		if !strings.Contains(got, want) {
			t.Errorf("alice does not get %s in %s", want, got)
		}
	}
	if got := as(t, alice+1, alice+1, directory, `{"id":1,"cmd":"leases"}`+"\n"); strings.Contains(got, "train.py") || !strings.Contains(got, `{"id":null,"state":"held"`) {
		t.Errorf("bob gets %s", got)
	}
}

func TestLimitsOfAClaim(t *testing.T) {
	good, limit := request{Cmd: cmdClaim, Bytes: 1, Count: 1}, int64(maxWait)
	largest := request{Cmd: cmdClaim, Bytes: maxAsked, Count: maxLeased, GPUs: make([]string, maxLeased), PID: 2, LengthNS: limit, TTLNS: limit, WaitNS: limit}
	for _, r := range []request{good, largest, {Cmd: cmdRenew, TTLNS: 1}} {
		if err := r.check(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for name, spoil := range map[string]func(*request){
		"bytes": func(r *request) { r.Bytes = 0 }, "more bytes": func(r *request) { r.Bytes = maxAsked + 1 }, "count": func(r *request) { r.Count = 0 },
		"larger count": func(r *request) { r.Count = maxLeased + 1 }, "gpus": func(r *request) { r.GPUs = make([]string, maxLeased+1) },
		"wait": func(r *request) { r.WaitNS = -1 }, "ttl": func(r *request) { r.TTLNS = limit + 1 }, "pid": func(r *request) { r.PID = 1 },
		"no pid": func(r *request) { r.PID = -1 }, "length": func(r *request) { r.LengthNS = limit + 1 }, "a longer wait": func(r *request) { r.WaitNS = limit + 1 },
		"renewal": func(r *request) { r.Cmd = cmdRenew },
	} {
		r := good
		if spoil(&r); r.check() == nil {
			t.Errorf("%s: %+v is no mistake", name, r)
		}
	}
}

// TestWaitsForLeasesAreLimited: at most 1,024 connections wait in all, and at most 128 of each user
// other than root and the daemon's own.
func TestWaitsForLeasesAreLimited(t *testing.T) {
	for _, c := range []struct {
		alices, bobs int
		owner, want  bool
	}{{0, 0, false, true}, {127, 800, false, true}, {128, 0, false, false}, {128, 800, true, true}, {0, 1023, false, true}, {0, 1024, false, false}, {0, 1024, true, false}} {
		s := &Server{open: make(map[*net.UnixConn]uint32), waits: make(map[*net.UnixConn]bool)}
		for i := range c.alices + c.bobs {
			conn := new(net.UnixConn)
			if s.open[conn], s.waits[conn] = bob, true; i < c.alices {
				s.open[conn] = alice
			}
		}
		next := &client{conn: new(net.UnixConn), uid: alice, owner: c.owner}
		if got := s.startWait(next); got != c.want || s.waits[next.conn] != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestConnectionsThatWaitForALeaseTakeNoOthersPlace: waiting connections count neither against
// their user's limit nor against the limit for all.
func TestConnectionsThatWaitForALeaseTakeNoOthersPlace(t *testing.T) {
	for uid, most := range map[uint32]int{alice: mostOfAUser, 0: mostOwners} {
		for _, waiting := range []int{0, 1, 40} {
			s := &Server{open: make(map[*net.UnixConn]uint32), waits: make(map[*net.UnixConn]bool)}
			for i := range most + waiting {
				if s.full(uid) {
					t.Errorf("user %d has no place, with %d connections and %d that wait", uid, len(s.open), len(s.waits))
				}
				conn := new(net.UnixConn)
				if s.open[conn] = uid; i < waiting {
					s.waits[conn] = true
				}
			}
			if !s.full(uid) {
				t.Errorf("user %d may have more than %d connections beside %d that wait", uid, most, waiting)
			}
		}
	}
}

// TestClaimForNoProcessEnds: a lease for no process has a TTL of ten minutes, unless its claim sets
// another. A claim for a process needs a daemon that can identify the process.
func TestClaimForNoProcessEnds(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{0: 10 * time.Minute, time.Second: time.Second} {
		if ask, err := new(Server).ask(&client{uid: alice}, &request{TTLNS: int64(ttl)}); err != nil || ask.TTL != want || ask.UID != alice {
			t.Errorf("%v: %+v, %v", ttl, ask, err)
		}
	}
	table := process.NewTable("/proc")
	for _, o := range []Options{{}, {Identify: table.Identify}, {Owner: table.Owner}} {
		for _, r := range []request{{Self: true}, {PID: os.Getpid()}} {
			if ask, err := (&Server{options: o}).ask(new(client), &r); err == nil || !strings.Contains(err.Error(), "cannot be identified") {
				t.Errorf("%+v, %v", ask, err)
			}
		}
	}
}

// TestClaimForAnothersProcess: only root claims for a process whose owner is another user, or not known.
func TestClaimForAnothersProcess(t *testing.T) {
	table := process.NewTable("/proc")
	conn := answering(t).conn
	for _, c := range []struct {
		uid   uint32
		owner quantity.Optional[uint32]
		want  bool
	}{
		{alice, quantity.From[uint32](alice, quantity.System), true}, {alice, quantity.From[uint32](bob, quantity.System), false}, {alice, quantity.Optional[uint32]{}, false},
		{0, quantity.From[uint32](bob, quantity.System), true}, {0, quantity.Optional[uint32]{}, true},
	} {
		s := &Server{options: Options{Identify: table.Identify, Owner: func(int) quantity.Optional[uint32] { return c.owner }}}
		ask, err := s.ask(&client{conn: conn, uid: c.uid, pid: os.Getpid(), since: math.MaxUint64}, &request{PID: os.Getpid()})
		if (err == nil) != c.want || err == nil && ask.Process.PID != os.Getpid() {
			t.Errorf("%+v: %+v, %v", c, ask, err)
		}
	}
}

// granting is a ledger that grants every claim.
type granting struct{ Leaser }

func (granting) Claim(context.Context, <-chan struct{}, lease.Ask, func(schema.Lease) error) (schema.Lease, error) {
	return schema.Lease{}, nil
}

// TestRootsLedgerIsTheOnlyOne: a user's daemon grants leases only if root's keeps none.
func TestRootsLedgerIsTheOnlyOne(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "none"))
	got := as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_CLAIM=1")
	if got != "false <nil>\n" && !strings.HasPrefix(got, "true root's daemon keeps the leases") {
		t.Errorf("root's daemon, and the claim's error: %q", got)
	}
}

// TestRootsDaemonGrants: while root's daemon keeps leases, it grants a claim, and a user's daemon refuses one.
func TestRootsDaemonGrants(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	directory, _ := serveLeases(t, mustShare(t, "all"))
	var failed error
	var claim func()
	claim = func() {
		runtime.LockOSThread()            // the thread and its mounts end with the goroutine
		if unix.Gettid() == os.Getpid() { // the main thread would keep its mounts
			defer runtime.UnlockOSThread()
			inOther(claim)
			return
		}
		if failed = errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", "/run", "tmpfs", 0, ""),
			os.Mkdir(RootDirectory, 0o755), unix.Mount(directory, RootDirectory, "", unix.MS_BIND, "")); failed != nil {
			return
		}
		if roots, err := DialLeases(context.Background(), []Place{{RootDirectory, 0}}); err != nil {
			t.Error(err)
		} else {
			_ = roots.Close() // it has answered
		}
		if _, err := (&Server{options: Options{Leaser: granting{}}}).claim(context.Background(), &client{}, &request{}, nil, nil); err != nil {
			t.Error(err)
		}
		if got := as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_CLAIM=1"); !strings.HasPrefix(got, "true root's daemon keeps the leases") {
			t.Errorf("a user's: %q", got)
		}
	}
	if inOther(claim); failed != nil {
		needs.Missing(t, "no file system can be mounted: %v", failed)
	}
}

// inOther runs a function in another goroutine.
func inOther(f func()) {
	var running sync.WaitGroup
	running.Go(f)
	running.Wait()
}

func TestRefusalsOfClaims(t *testing.T) {
	for want, err := range map[probe.Code]error{
		Never: &lease.Refusal{Never: true}, NoRoom: &lease.Refusal{}, notFound: lease.ErrNone, probe.Busy: lease.ErrMany, probe.Forbidden: io.EOF,
	} {
		if a := refusedLease(7, fmt.Errorf("claim: %w", err)); a.Error.Code != want || a.ID != 7 || a.OK {
			t.Errorf("%v: %+v, want %s", err, a.Error, want)
		}
	}
}

// BenchmarkClaim measures a claim and its release over the socket.
func BenchmarkClaim(b *testing.B) {
	directory, _ := serveLeases(b, Share{0o600, -1})
	places := []Place{{directory, uint32(os.Geteuid())}}
	client, err := DialLeases(context.Background(), places)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		given, err := client.askLease(context.Background(), (&Claim{Ask: lease.Ask{Claim: lease.Claim{Need: quantity.MiB, Count: 1}}}).request())
		if err == nil {
			_, err = client.ReleaseLease(context.Background(), string(given.ID))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
