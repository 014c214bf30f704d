package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/panics"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// SSH is a Source of a few boxes. It runs "vramscope stream" on each through the user's own ssh.
//
//	ssh BOX vramscope stream ── a line a sample ──→ newest snapshot of the box ──→ Look
//	        └ ends ── the box's line shows the reason; again after 1, 2, 4 … 60 s
type SSH struct {
	boxes []*sshBox
	now   func() time.Time
	ssh   []string      // the program and its options, before "--"
	other Stream        // used in place of ssh; nil for ssh
	quiet time.Duration // a connection without a line for this long is closed
}

type sshBox struct {
	host string

	mu     sync.Mutex
	latest *snapshot.Snapshot
	came   time.Time     // when latest came, by our clock
	skew   time.Duration // by how much the box's clock is ahead of ours
	why    string        // why the last connection ended; "" once a new one has sent a sample
	tried  bool
}

// Limits on a box's output.
const (
	longestLine  = 8 << 20 // 4096 processes are about 6 MB
	betweenLines = 200 * time.Millisecond
	longestWhy   = 200
)

// Times of a connection.
const (
	firstPause = time.Second
	mostPause  = time.Minute
	quiet      = 15 * time.Second // a stream samples once a second
	mostSkew   = time.Minute
	mostQuiet  = time.Minute // the longest silence of a connection, because a driver may take a while to open
)

// NewSSH makes a source that contacts no box before Run. The hosts must be valid destinations.
func NewSSH(hosts []string, now func() time.Time) *SSH {
	s := &SSH{now: now, quiet: mostQuiet, ssh: []string{"ssh", "-axT", "-o", "ClearAllForwardings=yes", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"}}
	for _, host := range hosts {
		s.boxes = append(s.boxes, &sshBox{host: host})
	}
	return s
}

// Stream passes the snapshots of a box to take until the context ends or the stream fails.
type Stream func(ctx context.Context, host string, take func(*snapshot.Snapshot)) error

// NewStreams returns the same source as NewSSH over another transport.
func NewStreams(hosts []string, stream Stream, now func() time.Time) *SSH {
	s := NewSSH(hosts, now)
	s.other = stream
	return s
}

// Run keeps a stream open to each box until the context ends.
func (s *SSH) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, b := range s.boxes {
		running.Go(func() {
			for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, mostPause) {
				began := s.now()
				err := s.follow(ctx, b)
				b.fail(err)
				if s.now().Sub(began) > mostPause {
					pause = firstPause // the connection lasted
				}
				bounded.Sleep(ctx, pause)
			}
		})
	}
	running.Wait()
}

// follow reads one connection until it ends. A panic over a box's output ends only that connection.
func (s *SSH) follow(ctx context.Context, b *sshBox) (err error) {
	defer func() {
		if caught := panics.Catch(recover()); caught != nil {
			err = fmt.Errorf("internal error: %w", caught)
		}
	}()
	if s.other != nil {
		return s.other(ctx, b.host, func(snap *snapshot.Snapshot) { b.show(snap, s.now()) })
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(s.quiet, func() { cancel(errSilent) })
	defer silent.Stop()
	args := append(append([]string{}, s.ssh[1:]...), "--", b.host, "vramscope", "stream")
	cmd := exec.CommandContext(ctx, s.ssh[0], args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // keeps the terminal's signals from ssh
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	said := &LastLine{}
	cmd.Stderr = said            //nolint:forbidigo // a LastLine is bounded
	out, err := cmd.StdoutPipe() //nolint:forbidigo // bounded.Lines reads it
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("ssh cannot be run: %w", err)
	}
	lines := bounded.Lines(out, longestLine)
	var refused error
	for lines.Scan() {
		silent.Reset(s.quiet)
		if refused = b.take(lines.Bytes(), s.now()); refused != nil {
			break
		}
		time.Sleep(betweenLines) // a box that floods us waits
	}
	if refused == nil && errors.Is(lines.Err(), bufio.ErrTooLong) {
		refused = fmt.Errorf("it sends lines of more than %d MiB", longestLine>>20)
	}
	if refused != nil {
		cancel(nil)
	} else {
		defer time.AfterFunc(cmd.WaitDelay, func() { cancel(nil) }).Stop() // ssh has closed its output, and should end soon
	}
	err = cmd.Wait()
	var ended *exec.ExitError
	switch {
	case errors.Is(context.Cause(ctx), errSilent): // the refused line may be the one that was cut off
		return fmt.Errorf("%w %s", errSilent, quantity.BriefDuration(s.quiet))
	case refused != nil:
		return refused
	case errors.As(err, &ended) && ended.ExitCode() == 127:
		return errors.New("vramscope is not installed there, or not in its PATH")
	case said.String() != "":
		return errors.New(said.String())
	case err != nil:
		return fmt.Errorf("the stream has ended: %w", err)
	}
	return errors.New("the stream has ended")
}

var errSilent = errors.New("it has sent no whole line for")

func (b *sshBox) take(line []byte, now time.Time) error {
	var d schema.Document
	if err := json.Unmarshal(line, &d); err != nil {
		return fmt.Errorf("it does not send JSON: %s", text.Cut(text.Clean(string(line[:min(len(line), longestWhy)])), 60, "…"))
	}
	if d.Schema != schema.Version {
		return fmt.Errorf("it sends the schema %q, not %q", text.Cut(text.Clean(d.Schema), 40, "…"), schema.Version)
	}
	b.show(d.Snapshot(), now)
	return nil
}

// show makes a snapshot the newest.
func (b *sshBox) show(snap *snapshot.Snapshot, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := *snap
	b.skew, own.Time = snap.Time.Sub(now), now // one clock for all boxes
	b.latest, b.came, b.why, b.tried = &own, now, "", true
}

func (b *sshBox) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.why, b.tried = text.Cut(text.Clean(err.Error()), longestWhy, "…"), true
}

// LastLine keeps the last line written to it or, if there is one, the first line that begins with
// "vramscope: " and says why vramscope ended.
type LastLine struct {
	mu   sync.Mutex
	line []byte
}

// Prefixes of messages, which String removes.
var byVramscope, bySSH = []byte("vramscope: "), []byte("ssh: ")

func (l *LastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range bytes.Split(p, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(l.line, byVramscope) {
			l.line = append(l.line[:0], line[:min(len(line), longestWhy)]...)
		}
	}
	return len(p), nil
}

// String returns the kept line without the name of its program.
func (l *LastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(text.Clean(string(bytes.TrimPrefix(bytes.TrimPrefix(l.line, byVramscope), bySSH))))
}

// line returns the box as a line and, if the line's state is OK, its newest snapshot.
func (b *sshBox) line(now time.Time) (Line, *snapshot.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := Line{Box: b.host, Host: b.host[strings.LastIndexByte(b.host, '@')+1:], GPU: snapshot.GPU{Index: -1, State: snapshot.GPUOK}}
	switch age := now.Sub(b.came); {
	case !b.tried:
		l.State, l.Why = Asking, "connecting"
	case b.why != "" || b.latest == nil:
		l.State, l.Why = Down, b.why
	case age > quiet:
		l.State, l.Why = Stopped, "no sample for "+quantity.BriefDuration(age.Truncate(time.Second))
	case b.latest.Driver.State != snapshot.DriverOK:
		l.State, l.Why = Stopped, "driver: "+string(b.latest.Driver.State)
	default:
		return l, b.latest
	}
	return l, nil
}
