package forecast

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// format is the version of the layout of state.
const format = 12

// image is a marshalled Forecaster, little-endian. A checksum follows it.
type image struct {
	Format  uint32
	Nanos   uint32
	Seconds int64 // the epoch
	State   state
}

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
	return binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(data)), nil
}

// UnmarshalBinary reads what MarshalBinary wrote. An error changes nothing.
func (f *Forecaster) UnmarshalBinary(data []byte) error {
	var read image
	size := binary.Size(&read)
	if len(data) != size+crc32.Size || binary.LittleEndian.Uint32(data[size:]) != crc32.ChecksumIEEE(data[:size]) {
		return errors.New("read a forecaster's state: its size or its checksum does not match")
	}
	if _, err := binary.Decode(data, binary.LittleEndian, &read); err != nil {
		return fmt.Errorf("read a forecaster's state: %w", err)
	}
	if read.Format != format {
		return fmt.Errorf("read a forecaster's state: format %d", read.Format)
	}
	*f = Forecaster{state: read.State}
	if f.state.Count > 0 {
		f.epoch = time.Unix(read.Seconds, int64(read.Nanos))
	}
	return nil
}
