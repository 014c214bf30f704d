package probe

import (
	"time"

	"golang.org/x/sys/unix"
)

// listing is what a directory of sockets contained when it was last read. An
// unchanged directory is not read again: it may contain a million names.
type listing struct {
	stamp     stamp
	at        time.Time
	names     []string // of sockets and records
	truncated bool     // the directory has more names than are read
}

// stamp identifies a directory and its state: it changes with every name that
// is added or removed.
type stamp struct {
	device, inode     uint64
	changed, modified time.Time // by the file system's clock
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{st.Dev, st.Ino, time.Unix(st.Ctim.Unix()), time.Unix(st.Mtim.Unix())}
}

const (
	// A name added this soon after another may leave the stamp as it is: file
	// systems record time in steps of up to 2 s.
	stampPrecision = 3 * time.Second
	// Some network file systems report changes late, or not at all.
	relistTime = 30 * time.Second
)

// current reports whether the directory still contains what was read.
func (l listing) current(now stamp) bool {
	return l.stamp == now && l.at.Sub(now.changed) > stampPrecision && time.Since(l.at) < relistTime
}

// refresh returns the listing of a directory, which it reads if it has to.
func (l listing) refresh(dir *directory) (listing, error) {
	if l.current(dir.stamp) {
		return l, nil
	}
	fresh := listing{stamp: dir.stamp, at: time.Now()}
	var err error
	if fresh.names, fresh.truncated, err = dir.sockets(maxNames); err != nil {
		fresh.stamp = stamp{} // to be read again
	}
	return fresh, err
}
