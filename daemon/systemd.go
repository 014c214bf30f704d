package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
)

// NewLog returns the daemon's log on a file, usually standard error. Lines begin with the time, or
// with a priority if the file leads to systemd's journal, which adds the time.
func NewLog(file *os.File, getenv func(string) string) *slog.Logger {
	return slog.New(newHandler(file, toJournal(file, getenv("JOURNAL_STREAM"))))
}

// toJournal reports, by device and inode, whether a file is systemd's stream to the journal.
// Source: https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html, $JOURNAL_STREAM
func toJournal(file *os.File, stream string) bool {
	var st unix.Stat_t
	err := unix.Fstat(int(file.Fd()), &st)
	return err == nil && stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// handler writes a message, then its attributes as slog's text handler does:
//
//	2026-11-21 03:12:07 WARN recording paused reason="disk full"
//	<4>recording paused reason="disk full"
type handler struct {
	slog.Handler // writes the attributes into line
	line         *bounded.Buffer
	mu           *sync.Mutex
	out          io.Writer
	journal      bool
}

func newHandler(out io.Writer, journal bool) *handler {
	h := &handler{line: bounded.NewBuffer(longestLine), mu: new(sync.Mutex), out: out, journal: journal}
	h.Handler = slog.NewTextHandler(h.line, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}})
	return h
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line.Reset()
	if h.journal {
		fmt.Fprintf(h.line, "<%d>", priority(r.Level))
	} else {
		fmt.Fprintf(h.line, "%s %s ", r.Time.Format(time.DateTime), r.Level)
	}
	fmt.Fprintf(h.line, "%s ", r.Message)
	if err := h.Handler.Handle(ctx, r); err != nil {
		return err
	}
	line := bytes.TrimRight(h.line.Bytes(), " \n")
	if h.line.Dropped() {
		line = append(bytes.ToValidUTF8(line, nil), "…"...)
	}
	_, err := h.out.Write(append(line, '\n'))
	return err
}

// longestLine limits a line of the log, in bytes: other users choose parts of its text.
const longestLine = 8 << 10

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.Handler = h.Handler.WithAttrs(attrs)
	return &next
}

func (h *handler) WithGroup(name string) slog.Handler {
	next := *h
	next.Handler = h.Handler.WithGroup(name)
	return &next
}

// priority returns the syslog priority of a level.
// Source: https://man7.org/linux/man-pages/man3/sd-daemon.3.html
func priority(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3
	case level >= slog.LevelWarn:
		return 4
	default:
		return 6
	}
}

// Notifier sends systemd the daemon's state. Without systemd it does nothing.
// Source: https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
type Notifier struct {
	address  string
	watchdog time.Duration // the longest time between two WATCHDOG=1; 0: systemd expects none
}

// NewNotifier reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
func NewNotifier(getenv func(string) string) *Notifier {
	n := &Notifier{address: getenv("NOTIFY_SOCKET")}
	usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	pid := getenv("WATCHDOG_PID")
	if err == nil && usec > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	return n
}

// Reloading notifies systemd that the daemon reads its configuration again; READY=1 follows.
func (n *Notifier) Reloading() {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // the clock always exists
	n.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000))
}

// Status sets the text that systemctl status shows.
func (n *Notifier) Status(status string) { n.send("STATUS=" + status) }

// send blocks for at most 100 ms. If systemd does not read its socket by then, the message is lost.
func (n *Notifier) send(message string) {
	if n.address == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.address, Net: "unixgram"})
	if err != nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = conn.Write([]byte(message)) // nothing can be done about an error
	_ = conn.Close()
}
