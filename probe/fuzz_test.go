package probe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
)

func pair(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]*net.UnixConn, 0, len(fds))
	for _, fd := range fds {
		file := os.NewFile(uintptr(fd), "socket")
		conn, err := net.FileConn(file)
		_ = file.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, conn.(*net.UnixConn))
	}
	t.Cleanup(func() {
		for _, end := range ends {
			_ = end.Close()
		}
	})
	return ends[0], ends[1]
}

func FuzzClientInput(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"ok":true,"proto":"vramscope/1","pid":1,"starttime":1,"runtimes":[{"name":"x"}]}` + "\n" +
			`{"id":2,"ok":true,"time_ns":5,"devices":[{"uuid":"GPU-1","total_bytes":9,"allocators":[{"kind":"raw","handle":7,"reserved_bytes":5,"allocated_bytes":4,"cached_bytes":1,"fragmented_bytes":0,` +
			`"peak_allocated_bytes":9,"blocks":3,"stranded_segments":1,"config":"x","pools":[{"name":"small","reserved_bytes":2,"segments":1}],` +
			`"largest":[{"bytes":4,"age_seconds":1.5,"api":"cuMemAlloc","library":"libx.so"}]}]}]}` + "\n" +
			`{"id":3,"ok":true,"devices":[{"uuid":"GPU-1","before_bytes":5,"after_bytes":3,"freed_bytes":2}],"ms":1.5}` + "\n",
		`{"id":1,"ok":false,"error":{"code":"busy","message":"x"}}` + "\n" + `{"id":2,"ok":false}` + "\n",
		`{"id":null,"ok":false,"error":{"code":"forbidden","message":"x"}}` + "\n",
		`{"id":1,"ok":true,"time_ns":1,"devices":[{"uuid":"GPU-1","allocators":[{"kind":"a","segments":-1}]}]}` + "\n", "\n\n{", "\xff\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		ours, theirs := pair(t)
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		go func() {
			_, _ = theirs.Write(input)
			_ = theirs.CloseWrite()
		}()
		client := newClient(ours, "fuzzed", process.Identity{PID: 1, StartTime: 1}, owner{nspid: 1})
		ctx := context.Background()
		if hello, err := client.Hello(ctx); err == nil && (!sameMajor(hello.Proto) || len(hello.Runtimes) > maxRuntimes) {
			t.Errorf("accepted %+v", hello)
		}
		if report, err := client.Stats(ctx, false); err == nil {
			if err := report.check(); err != nil {
				t.Errorf("accepted although %v", err)
			}
		}
		result, err := client.Flush(ctx, FlushRequest{Level: Gradual})
		for _, d := range result.Devices {
			if err == nil && d.FreedBytes != d.BeforeBytes-d.AfterBytes {
				t.Errorf("accepted %+v", result)
			}
		}
		if err != nil && len(err.Error()) > 4*maxText {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}

// FuzzLinesMatchPlainSplit: input that comes in pieces has the same lines as after a plain split.
func FuzzLinesMatchPlainSplit(f *testing.F) {
	f.Add([]byte("a\nb\n\n  \nccc"), 2)
	f.Add([]byte(strings.Repeat("x", 5000)+"\ny\n"), 700)
	f.Fuzz(func(t *testing.T, input []byte, size int) {
		size = max(1, size%8192)
		rest := input
		in := newLines(readerFunc(func(p []byte) (int, error) {
			if len(rest) == 0 {
				return 0, io.EOF
			}
			n := copy(p, rest[:min(size, len(rest))])
			rest = rest[n:]
			return n, nil
		}))
		for plain := range bytes.SplitAfterSeq(input, []byte("\n")) {
			whole := bytes.HasSuffix(plain, []byte("\n"))
			if whole && len(plain) <= MaxLine && len(bytes.TrimSpace(plain)) == 0 {
				continue
			}
			line, err := in.next()
			switch {
			case len(plain) > MaxLine || !whole && len(plain) == MaxLine:
				if !errors.Is(err, errLongLine) {
					t.Fatalf("a line of %d bytes: %v", len(plain), err)
				}
				return
			case !whole && len(plain) > 0:
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("an unfinished line: %q, %v", line, err)
				}
				return
			case !whole:
				if !errors.Is(err, io.EOF) {
					t.Fatalf("the end: %q, %v", line, err)
				}
				return
			case err != nil || !bytes.Equal(line, plain[:len(plain)-1]):
				t.Fatalf("got %q, %v; want %q", line, err, plain)
			}
		}
	})
}

func FuzzSocketNames(f *testing.F) {
	f.Add("4711-190284.sock")
	f.Add("-1-5.sock")
	f.Add("1-+5.sock")
	f.Fuzz(func(t *testing.T, name string) {
		if pid, start, ok := parseSocketName(name); ok && (pid <= 0 || socketName(pid, start) != name) {
			t.Errorf("%q is %d and %d", name, pid, start)
		}
	})
}

// descriptors returns how many descriptors this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// hostileProbe answers each request, or silence, with the next part of a script, in
// which $ stands for the request's id. An empty part is no answer. A part that begins
// with the byte 1 is sent with a descriptor.
func hostileProbe(conn *net.UnixConn, script [][]byte, silence time.Duration) {
	defer func() { _ = conn.Close() }()
	in := newLines(conn)
	asked := 0
	for _, part := range script {
		err := conn.SetReadDeadline(time.Now().Add(silence))
		if err == nil {
			_, err = in.next()
		}
		if err == nil {
			asked++
		} else if !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		part = bytes.ReplaceAll(part, []byte("$"), strconv.AppendInt(nil, int64(asked), 10))
		err = nil
		if lent, ok := bytes.CutPrefix(part, []byte("\x01")); ok && len(lent) > 0 {
			err = send(conn, lent, os.Stdout)
		} else if len(part) > 0 {
			_, err = conn.Write(part)
		}
		if err != nil {
			return
		}
	}
}

// FuzzSession: whatever a probe answers, the session ends soon after the connection, publishes only
// possible answers, and leaves no descriptor and no goroutine behind.
func FuzzSession(f *testing.F) {
	const hello = `{"id":$,"ok":true,"proto":"vramscope/1","pid":1,"starttime":1,"runtimes":[{"name":"x"}],"started_by":"run","evictable":[{"name":"kv","bytes":5}]}` + "\n"
	const stats = `{"id":$,"ok":true,"time_ns":5,"devices":[{"uuid":"GPU-1","total_bytes":9,"allocators":[{"kind":"raw","reserved_bytes":5,"allocated_bytes":4,"cached_bytes":1,"fragmented_bytes":0}]}]}` + "\n"
	for _, seed := range []string{
		hello + "\x00" + stats + "\x00" + stats,
		hello + "\x00\x00" + stats + "\x00\x01" + stats,
		hello + "\x00" + stats[:40] + "\x00" + stats,
		hello + stats + stats + "\x00" + stats,
		hello + "\x00" + `{"id":$,"ok":false,"error":{"code":"busy","message":"\u001b[2J"}}` + "\n\x00" + stats,
		hello + "\x00" + `{"id":$,"ok":true,"time_ns":9223372036854775807,"devices":[]}` + "\n",
		"\x01" + hello + "\x00\n\n\n \x00{\x00\xff\n", "",
	} {
		f.Add([]byte(seed))
	}
	const deadline, parts = 5 * time.Millisecond, 6
	f.Fuzz(func(t *testing.T, input []byte) {
		files, goroutines := descriptors(t), runtime.NumGoroutine()
		ours, theirs := pair(t)
		script := bytes.SplitN(input, []byte{0}, parts)
		go hostileProbe(theirs, script, 2*deadline)
		id := process.Identity{PID: 1, StartTime: 1}
		client := newClient(ours, "hostile", id, owner{nspid: 1})
		client.deadline = deadline
		p := newProbeProcess(id, 0, time.Now())
		s := session{probe: p, client: client, clock: time.Now, interval: time.Microsecond}
		began := time.Now()
		err := s.run(context.Background(), func() { checkAnswer(t, p.answer.Load()) })
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%q: the session took %v", input, took)
		}
		if err == nil || len(err.Error()) > 4*maxText || utf8.Valid(input) && !utf8.ValidString(err.Error()) {
			t.Errorf("%q: the session ends with %v", input, err)
		}
		for end := time.Now().Add(10 * time.Second); descriptors(t) > files || runtime.NumGoroutine() > goroutines; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%q: %d descriptors and %d goroutines, before %d and %d", input, descriptors(t), runtime.NumGoroutine(), files, goroutines)
			}
		}
	})
}

// checkAnswer: a published answer passes the checks again, unchanged, and is not from the future.
func checkAnswer(t *testing.T, a *Answer) {
	t.Helper()
	if a.At.After(time.Now()) {
		t.Errorf("a reading of %v", a.At)
	}
	if !a.At.IsZero() {
		if err := a.Report.check(); err != nil {
			t.Errorf("published although %v: %+v", err, a.Report)
		}
	}
	if a.Hello.Proto == "" {
		return
	}
	again := a.Hello
	if err := again.check(1, 1); err != nil || len(a.Hello.Runtimes) > maxRuntimes || len(a.Hello.Evictable) > maxEvictable || len(a.Hello.StartedBy) > maxText {
		t.Errorf("published although %v: %+v", err, a.Hello)
	}
	for _, cache := range a.Hello.Evictable {
		if !plausible(cache.Bytes.Or(0)) {
			t.Errorf("a cache of %d bytes", cache.Bytes.Or(0))
		}
	}
}

// FuzzUserMap: parseInnerUID agrees with a plain calculation, and parseUser accepts one
// spelling of a user ID only.
func FuzzUserMap(f *testing.F) {
	if own, err := os.ReadFile("/proc/self/uid_map"); err == nil {
		f.Add(string(own), uint32(os.Geteuid()))
	}
	f.Add("0 1000 1\n1 100000 65536\n", uint32(100005))
	f.Add("4294967295 5 4294967295\n0x1 0 1\n1_0 0 1\n -1 0 1\n", uint32(6))
	f.Add("01000", uint32(1000))
	f.Fuzz(func(t *testing.T, content string, uid uint32) {
		want := int(uid)
		for _, line := range bytes.Split([]byte(content), []byte("\n")) {
			fields := bytes.Fields(line)
			var n [3]uint64
			bad := len(fields) != 3
			for i := range min(3, len(fields)) {
				var err error
				n[i], err = strconv.ParseUint(string(fields[i]), 10, 32)
				bad = bad || err != nil
			}
			if !bad && uint64(uid) >= n[1] && uint64(uid)-n[1] < n[2] && n[0]+uint64(uid)-n[1] < 1<<32 {
				want = int(n[0] + uint64(uid) - n[1])
				break
			}
		}
		if got := parseInnerUID(content, uid); got != want {
			t.Errorf("%q: user %d is %d inside, want %d", content, uid, got, want)
		}
		if user, ok := parseUser(content); ok && strconv.FormatUint(uint64(user), 10) != content {
			t.Errorf("%q is user %d", content, user)
		}
	})
}
