package fleet

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The delay and the loss of a slow link, in each direction.
const (
	linkDelay = 200 * time.Millisecond
	linkLoss  = .02
)

// link makes two network interfaces, joined by a slow link. It does not use netem, which the kernel of a
// container may lack.
func link(t *testing.T, a, b string) {
	t.Helper()
	one, other := tunnel(t, a), tunnel(t, b)
	go carry(one, other)
	go carry(other, one)
}

// tunnel makes a network interface, and returns the file that has the interface's packets.
func tunnel(t *testing.T, name string) *os.File {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("/dev/net/tun: %v", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		t.Fatal(err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { _ = file.Close() }) // removes the interface
	return file
}

// carry carries packets until one of the ends is closed.
func carry(from, to *os.File) {
	type packet struct {
		due  time.Time
		data []byte
	}
	under := make(chan packet, 10000)
	defer close(under)
	go func() {
		for p := range under {
			time.Sleep(time.Until(p.due))
			_, _ = to.Write(p.data) // an end that is down loses the packet
		}
	}()
	for buf := make([]byte, 1<<16); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if rand.Float64() >= linkLoss {
			under <- packet{time.Now().Add(linkDelay), append([]byte(nil), buf[:n]...)}
		}
	}
}
