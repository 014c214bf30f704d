package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// impostor listens on the socket of this process's own probe, and calls behave for
// each connection.
func impostor(t testing.TB, path string, behave func(net.Conn)) {
	t.Helper()
	dir, err := makeDirectory(path, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	begin, err := ownStart()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := dir.listen(socketName(os.Getpid(), begin))
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			running.Go(func() {
				behave(conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
}

// liar answers hello correctly and everything else with lie(id).
func liar(lie func(id uint64) string) func(net.Conn) {
	return func(conn net.Conn) {
		begin, err := ownStart()
		if err != nil {
			return
		}
		requests := bufio.NewScanner(conn)
		for requests.Scan() {
			var r request
			if json.Unmarshal(requests.Bytes(), &r) != nil {
				return
			}
			answer := fmt.Sprintf(`{"id":%d,"ok":true,"proto":"vramscope/1","pid":%d,"starttime":%d}`, *r.ID, os.Getpid(), begin)
			if r.Cmd != cmdHello {
				answer = lie(*r.ID)
			}
			if _, err := fmt.Fprintln(conn, answer); err != nil {
				return
			}
		}
	}
}

// oneAllocator returns a liar whose report has one allocator.
func oneAllocator(allocator string) func(net.Conn) {
	return device(`"uuid":"` + testUUID + `","allocators":[{` + allocator + `}]`)
}

func device(fields string) func(net.Conn) { return devices("{" + fields + "}") }

func devices(list string) func(net.Conn) {
	return liar(func(id uint64) string {
		return fmt.Sprintf(`{"id":%d,"ok":true,"time_ns":1,"devices":[%s]}`, id, list)
	})
}

// manyDevices returns devices with maxAllocators allocators each, and more than maxReported in all.
func manyDevices() string {
	var list []string
	for i := range maxReported/maxAllocators + 1 {
		list = append(list, fmt.Sprintf(`{"uuid":"GPU-%d","allocators":[{"kind":"a"}%s]}`, i, strings.Repeat(`,{"kind":"a"}`, maxAllocators-1)))
	}
	return strings.Join(list, ",")
}

func TestImpossibleAnswerIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		behave func(net.Conn)
		reason string
	}{
		{"negative bytes", oneAllocator(`"kind":"raw","reserved_bytes":-1`), "reserved_bytes is -1"},
		{"NVML's not available", oneAllocator(`"kind":"raw","reserved_bytes":18446744073709551615`), "cannot unmarshal"},
		{"more than any GPU has", oneAllocator(`"kind":"raw","reserved_bytes":1125899906842625`), "reserved_bytes is 1125899906842625"},
		{"a part larger than the whole", oneAllocator(`"kind":"raw","reserved_bytes":5,"allocated_bytes":6`), "allocated_bytes is 6"},
		{"parts that do not add up", oneAllocator(`"kind":"raw","reserved_bytes":9,"allocated_bytes":5,"cached_bytes":3,"fragmented_bytes":0`), "sum to 8"},
		{"two parts that exceed reserved", oneAllocator(`"kind":"raw","reserved_bytes":9,"allocated_bytes":5,"cached_bytes":5`), "sum to 10"},
		{"a negative count", oneAllocator(`"kind":"raw","out_of_memory_count":-3`), "out_of_memory_count is -3"},
		{"a negative number of blocks", oneAllocator(`"kind":"raw","blocks":-1`), "blocks is -1"},
		{"a peak of an EiB", oneAllocator(`"kind":"raw","peak_reserved_bytes":1152921504606846976`), "a peak is 1152921504606846976"},
		{"an EiB asleep", oneAllocator(`"kind":"raw","asleep_bytes":1152921504606846976`), "asleep_bytes is 1152921504606846976"},
		{"a negative pool", oneAllocator(`"kind":"raw","pools":[{"name":"small","reserved_bytes":-1}]`), `pool "small" has a figure of -1`},
		{"a pool's negative count", oneAllocator(`"kind":"raw","pools":[{"name":"small","segments":-1}]`), "has -1 segments"},
		{"a negative allocation", oneAllocator(`"kind":"raw","largest":[{"bytes":-4}]`), "an allocation is -4"},
		{"an allocation from the future", oneAllocator(`"kind":"raw","largest":[{"bytes":4,"age_seconds":-0.5}]`), "is -0.5 s old"},
		{"an allocation too old", oneAllocator(`"kind":"raw","largest":[{"bytes":4,"age_seconds":1e300}]`), "is 1e+300 s old"},
		{"an impossible failed request", device(`"uuid":"GPU-1","out_of_memory":[{"time_ns":1,"bytes":-1}]`), "has a figure of -1 bytes"},
		{"an impossible limit", device(`"uuid":"GPU-1","out_of_memory":[{"time_ns":1,"bytes":1,"limit_bytes":1125899906842625}]`), "has a figure of 1125899906842625 bytes"},
		{"a failure without a time", device(`"uuid":"GPU-1","out_of_memory":[{"bytes":1}]`), "an allocation failed at 0"},
		{"a failure in the future", device(`"uuid":"GPU-1","out_of_memory":[{"time_ns":9223372036854775807,"bytes":1}]`), "in the future"},
		{"negative steps", liar(func(id uint64) string {
			return fmt.Sprintf(`{"id":%d,"ok":true,"time_ns":1,"steps":-1,"devices":[]}`, id)
		}), "steps is -1"},
		{"allocators that exceed any GPU together", device(`"uuid":"GPU-1","allocators":[{"kind":"a","reserved_bytes":1125899906842624},{"kind":"b","allocated_bytes":1}]`), "its allocators sum to 1125899906842625"},
		{"no kind", oneAllocator(`"reserved_bytes":5`), "kind"},
		{"a negative total", device(`"uuid":"` + testUUID + `","total_bytes":-5`), "total_bytes is -5"},
		{"not a UUID", device(`"uuid":"0","allocators":[]`), "not a UUID"},
		{"an escape sequence as UUID", device(`"uuid":"GPU-\u001b[2J"`), "not a UUID"},
		{"a device twice", devices(`{"uuid":"GPU-1"},{"uuid":"GPU-1"}`), "listed twice"},
		{"a pool twice", device(`"uuid":"GPU-1","allocators":[{"kind":"a","handle":3},{"kind":"b","handle":3}]`), "same handle"},
		{"many devices", devices(`{"uuid":"GPU-1"}` + strings.Repeat(`,{"uuid":"GPU-1"}`, maxDevices)), "65 devices"},
		{"many allocators", device(`"uuid":"GPU-1","allocators":[{}` + strings.Repeat(`,{}`, maxAllocators) + `]`), "65 allocators"},
		{"many allocators in all", devices(manyDevices()), "more than 512 allocators"},
		{"too many members", devices(`[]` + strings.Repeat(`,[]`, 50000)), "members"},
		{"no time", liar(func(id uint64) string { return fmt.Sprintf(`{"id":%d,"ok":true,"devices":[]}`, id) }), "time_ns"},
		{"another's id", liar(func(id uint64) string { return fmt.Sprintf(`{"id":%d,"ok":true,"time_ns":1,"devices":[]}`, id+1) }), "another request"},
		{"no id", liar(func(uint64) string { return `{"ok":true,"time_ns":1,"devices":[]}` }), "another request"},
		{"a failure without a reason", liar(func(id uint64) string { return fmt.Sprintf(`{"id":%d,"ok":false}`, id) }), "neither ok nor an error"},
		{"no JSON", liar(func(uint64) string { return "HTTP/1.1 400 Bad Request" }), "not a JSON object"},
		{"not UTF-8", liar(func(id uint64) string { return fmt.Sprintf(`{"id":%d,"x":"%s"}`, id, "\xff") }), "UTF-8"},
		{"an unrequested answer", func(conn net.Conn) {
			_, _ = fmt.Fprintln(conn, `{"id":7,"ok":true}`)
			_, _ = conn.Read(make([]byte, 1))
		}, "another request"},
		{"another version", func(conn net.Conn) {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = fmt.Fprintln(conn, `{"id":1,"ok":true,"proto":"vramscope/2"}`)
		}, `the probe speaks "vramscope/2"`},
		{"another pid", func(conn net.Conn) {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = fmt.Fprintln(conn, `{"id":1,"ok":true,"proto":"vramscope/1","pid":1,"starttime":1}`)
		}, "the probe reports PID 1"},
		{"another start time", func(conn net.Conn) { // of a process that had this pid before
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = fmt.Fprintf(conn, `{"id":1,"ok":true,"proto":"vramscope/1","pid":%d,"starttime":1}`+"\n", os.Getpid())
			_, _ = conn.Read(make([]byte, 1))
		}, "the probe reports start time 1"},
		{"closing", func(net.Conn) {}, ""},
		{"a long line", func(conn net.Conn) {
			_, _ = fmt.Fprintln(conn, strings.Repeat("x", MaxLine))
			_, _ = conn.Read(make([]byte, 1))
		}, "256 KiB"},
		{"nothing but empty lines", func(conn net.Conn) {
			block := []byte(strings.Repeat(" \n", 32<<10))
			for {
				if _, err := conn.Write(block); err != nil {
					return
				}
			}
		}, "empty lines"},
		{"silence", func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1024)); time.Sleep(time.Second) }, "no answer in time"},
		{"drop by drop", func(conn net.Conn) {
			for {
				if _, err := conn.Write([]byte("{")); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}, "no answer in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "vramscope")
			impostor(t, dir, c.behave)
			m := newMonitor(dir)
			if c.reason == ErrLate.Error() {
				m.finder.deadline = StatsDeadline
			}
			run(t, m)
			m.Settle(soon(t))
			a := answerOf(m, os.Getpid())
			if a == nil || a.Err == nil || !strings.Contains(a.Err.Error(), c.reason) {
				t.Fatalf("the answer is %+v", a)
			}
			if len(a.Report.Devices) != 0 || !a.At.IsZero() {
				t.Errorf("its figures were accepted: %+v", a.Report)
			}
		})
	}
}

func TestFloodAffectsOnlyItsSession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	c := spawn(t, "serve", dir)
	block := []byte(strings.Repeat(`{"id":9,"ok":true,"time_ns":1,"devices":[]}`+"\n", 1000))
	impostor(t, dir, func(conn net.Conn) {
		for {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	})
	m := watch(t, dir)
	eventually(t, "the other probe answers", func() bool { return answers(m, c.pid()) })
	eventually(t, "the flood is reported", func() bool {
		a := answerOf(m, os.Getpid())
		return a != nil && errors.Is(a.Err, ErrBroken)
	})
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := answerOf(m, c.pid()).At
	eventually(t, "the other probe still answers", func() bool { return answerOf(m, c.pid()).At.After(from.Add(500 * time.Millisecond)) })
	if a := answerOf(m, c.pid()); a.Err != nil {
		t.Errorf("the other probe: %v", a.Err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
		t.Errorf("half a second of flood took %d bytes", grown)
	}
}

func TestEndlessLineIsBounded(t *testing.T) {
	var read int
	in := newLines(readerFunc(func(p []byte) (int, error) {
		read += len(p)
		for i := range p {
			p[i] = 'x'
		}
		return len(p), nil
	}))
	if _, err := in.next(); !errors.Is(err, errLongLine) {
		t.Fatal(err)
	}
	if read > MaxLine || cap(in.begun) > 2*MaxLine {
		t.Errorf("%d bytes were read into %d", read, cap(in.begun))
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestLateAnswerIsReadNext(t *testing.T) {
	p := newPool()
	release := make(chan struct{})
	var calls atomic.Int32
	p.stats = func() (Report, error) {
		if calls.Add(1) == 1 {
			<-release
		}
		return Report{TimeNS: int64(calls.Load())}, nil
	}
	client := dial(t, start(t, p))
	client.deadline = 50 * time.Millisecond
	for range 2 {
		if _, err := client.Stats(soon(t), false); !errors.Is(err, ErrLate) {
			t.Fatalf("got %v", err)
		}
	}
	close(release)
	client.deadline = testTimeout
	if report, err := client.Stats(soon(t), false); err != nil || report.TimeNS != 1 {
		t.Errorf("the late answer: %+v, %v", report, err)
	}
	if report, err := client.Stats(soon(t), false); err != nil || report.TimeNS != 2 {
		t.Errorf("the next: %+v, %v", report, err)
	}
}

func TestUnfinishedLineIsUnexpectedEOF(t *testing.T) {
	in := newLines(strings.NewReader("{\"id\":1}\n{\"id\":"))
	if line, err := in.next(); err != nil || string(line) != `{"id":1}` {
		t.Fatalf("%q, %v", line, err)
	}
	if line, err := in.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", line, err)
	}
	whole := bufio.NewReader(strings.NewReader(""))
	if _, err := newLines(whole).next(); !errors.Is(err, io.EOF) {
		t.Errorf("an empty stream: %v", err)
	}
}
