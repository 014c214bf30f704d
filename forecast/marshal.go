package forecast

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// format is the version of what MarshalBinary writes: it changes with the
// layout of state.
const format = 6

// The parts of a marshalled Forecaster, in bytes, little-endian: the format,
// the state's checksum, the epoch's seconds and nanoseconds, the state.
const (
	sumAt   = 4
	epochAt = 8
	nanosAt = 16
	stateAt = 20
)

// MarshalBinary writes the state, so that a forecaster can continue after a
// restart. Times lose their monotonic clock reading.
func (f *Forecaster) MarshalBinary() ([]byte, error) {
	data := make([]byte, stateAt, stateAt+binary.Size(&f.state))
	data, err := binary.Append(data, binary.LittleEndian, &f.state)
	if err != nil {
		return nil, fmt.Errorf("write a forecaster's state: %w", err)
	}
	var seconds, nanos int64
	if f.state.Count > 0 {
		seconds, nanos = f.epoch.Unix(), int64(f.epoch.Nanosecond())
	}
	binary.LittleEndian.PutUint32(data, format)
	binary.LittleEndian.PutUint64(data[epochAt:], uint64(seconds))
	binary.LittleEndian.PutUint32(data[nanosAt:], uint32(nanos))
	binary.LittleEndian.PutUint32(data[sumAt:], crc32.ChecksumIEEE(data[epochAt:]))
	return data, nil
}

// UnmarshalBinary replaces the state by one that MarshalBinary wrote. Data of
// another version, and damaged data, are an error and change nothing.
func (f *Forecaster) UnmarshalBinary(data []byte) error {
	var read state
	switch {
	case len(data) != stateAt+binary.Size(&read):
		return fmt.Errorf("read a forecaster's state: %d bytes", len(data))
	case binary.LittleEndian.Uint32(data) != format:
		return fmt.Errorf("read a forecaster's state: format %d", binary.LittleEndian.Uint32(data))
	case binary.LittleEndian.Uint32(data[sumAt:]) != crc32.ChecksumIEEE(data[epochAt:]):
		return errors.New("read a forecaster's state: its checksum does not match")
	}
	if _, err := binary.Decode(data[stateAt:], binary.LittleEndian, &read); err != nil {
		return fmt.Errorf("read a forecaster's state: %w", err)
	}
	if !read.sound() {
		return errors.New("read a forecaster's state: an index is out of range")
	}
	f.state = read
	f.epoch = time.Time{}
	if read.Count > 0 {
		seconds := int64(binary.LittleEndian.Uint64(data[epochAt:]))
		f.epoch = time.Unix(seconds, int64(binary.LittleEndian.Uint32(data[nanosAt:])))
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
