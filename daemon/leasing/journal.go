package leasing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
	"vramscope/lease"
)

// journal keeps the ledger on disk, in two files that are written in turn. If the daemon is killed
// while it writes one, the other is complete. Leases are of no use after a reboot, so nothing is
// synced. No file is replaced either, because some file systems sync then.
type journal struct {
	path string // the path of both files, without .0 and .1
	turn int
}

type content struct {
	Turn   int            `json:"turn"`
	Boot   string         `json:"boot"`
	Leases []*lease.Lease `json:"leases"`
}

// maxJournal limits a file, in bytes; perBox leases take less.
const maxJournal = 16 << 20

// boot returns the kernel's name of this boot.
// Source: https://docs.kernel.org/admin-guide/sysctl/kernel.html#random
func boot() string {
	name, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without this file, every boot looks the same
	return strings.TrimSpace(string(name))
}

func (j *journal) open(turn, flags int) (*os.File, error) {
	return os.OpenFile(j.path+"."+strconv.Itoa(turn%2), flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
}

// read returns the leases that were written last in this boot.
func (j *journal) read() (leases []*lease.Lease, err error) {
	for turn := range 2 {
		file, failed := j.open(turn, os.O_RDONLY)
		if errors.Is(failed, fs.ErrNotExist) {
			continue
		}
		if failed != nil {
			return nil, fmt.Errorf("leases: %w", failed)
		}
		written, failed := bounded.First(file, maxJournal)
		_ = file.Close() // the file was only read
		var c content
		if failed == nil { // the file may end with the rest of longer, older content
			failed = json.NewDecoder(bytes.NewReader(written)).Decode(&c)
		}
		if failed != nil {
			err = fmt.Errorf("leases: %s.%d: %w", j.path, turn, failed)
		} else if c.Turn > j.turn && c.Boot == boot() {
			j.turn, leases = c.Turn, c.Leases
		}
	}
	if j.turn > 0 {
		err = nil // the daemon may have ended while it wrote the other file
	}
	return leases, err
}

func (j *journal) write(all []*lease.Lease) error {
	written, err := json.Marshal(content{j.turn + 1, boot(), all})
	if err != nil {
		return fmt.Errorf("leases: %w", err)
	}
	file, err := j.open(j.turn+1, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("leases: %w", err)
	}
	_, err = file.WriteAt(written, 0)
	if err = errors.Join(err, file.Truncate(int64(len(written))), file.Close()); err != nil {
		return fmt.Errorf("leases: %w", err)
	}
	j.turn++
	return nil
}
