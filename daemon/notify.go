package daemon

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Notifier tells systemd how the daemon is doing. Without systemd it does nothing.
// Source: https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
type Notifier struct {
	address  string
	watchdog time.Duration // between two signs of life, at most; 0: none is expected
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

// Ready says that the daemon samples and answers.
func (n *Notifier) Ready(status string) { n.send("READY=1\nSTATUS=" + status) }

// Stopping says that it ends.
func (n *Notifier) Stopping() { n.send("STOPPING=1") }

// Reloading says that it reads its configuration anew; Ready follows.
func (n *Notifier) Reloading() {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // there is such a clock
	n.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000))
}

// Status is what systemctl status shows.
func (n *Notifier) Status(status string) { n.send("STATUS=" + status) }

func (n *Notifier) alive() { n.send("WATCHDOG=1") }

// send never blocks the daemon: systemd reads its socket, or the message is lost.
func (n *Notifier) send(message string) {
	if n.address == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.address, Net: "unixgram"})
	if err != nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = conn.Write([]byte(message)) // nothing can be done about it
	_ = conn.Close()
}
