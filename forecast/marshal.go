package forecast

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// format is the version of the layout of state.
const format = 9

// image is a marshalled Forecaster, little-endian. Sum is of all that follows it.
type image struct {
	Format, Sum uint32
	Seconds     int64 // the epoch
	Nanos       uint32
	State       state
}

// Where the checksum stands, and where what it covers begins.
const sumAt, summedAt = 4, 8

// MarshalBinary writes the state. Times lose their monotonic clock reading.
func (f *Forecaster) MarshalBinary() ([]byte, error) {
	written := image{Format: format, State: f.state}
	if f.state.Count > 0 {
		written.Seconds, written.Nanos = f.epoch.Unix(), uint32(f.epoch.Nanosecond())
	}
	data, err := binary.Append(nil, binary.LittleEndian, &written)
	if err != nil {
		return nil, fmt.Errorf("write a forecaster's state: %w", err)
	}
	binary.LittleEndian.PutUint32(data[sumAt:], crc32.ChecksumIEEE(data[summedAt:]))
	return data, nil
}

// UnmarshalBinary reads what MarshalBinary wrote. An error changes nothing.
func (f *Forecaster) UnmarshalBinary(data []byte) error {
	var read image
	if len(data) != binary.Size(&read) {
		return fmt.Errorf("read a forecaster's state: %d bytes", len(data))
	}
	if _, err := binary.Decode(data, binary.LittleEndian, &read); err != nil {
		return fmt.Errorf("read a forecaster's state: %w", err)
	}
	switch {
	case read.Format != format:
		return fmt.Errorf("read a forecaster's state: format %d", read.Format)
	case read.Sum != crc32.ChecksumIEEE(data[summedAt:]):
		return errors.New("read a forecaster's state: its checksum does not match")
	case !read.State.sound():
		return errors.New("read a forecaster's state: an index is out of range")
	}
	*f = Forecaster{state: read.State}
	if f.state.Count > 0 {
		f.epoch = time.Unix(read.Seconds, int64(read.Nanos))
	}
	return nil
}

// sound reports whether every index lies within its ring.
func (s *state) sound() bool {
	ok := s.Count >= 0 && s.Now >= 0 && s.Minima.sound() &&
		s.Sawtooth.Next < turnCap && s.Sawtooth.Size <= turnCap && s.Seasons.sound()
	for i := range s.Records {
		r := &s.Records[i]
		ok = ok && r.First < pendingCap && r.Size <= pendingCap &&
			r.Errors.Next < residualCap && r.Errors.Size <= residualCap
	}
	return ok
}
