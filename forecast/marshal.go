package forecast

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// format is the version of the layout of state.
const format = 18

// image is a marshalled Forecaster, little-endian. A checksum of it and of the format
// follows.
type image struct {
	Epoch int64 // ns since 1970
	State state
}

// MarshalBinary writes the state. Times lose their monotonic clock reading.
func (f *Forecaster) MarshalBinary() ([]byte, error) {
	data, err := binary.Append(nil, binary.LittleEndian, &image{f.epoch.UnixNano(), f.state})
	if err != nil {
		return nil, fmt.Errorf("write a forecaster's state: %w", err)
	}
	return binary.LittleEndian.AppendUint32(data, checksum(data)), nil
}

// UnmarshalBinary reads what MarshalBinary wrote. An error changes nothing.
func (f *Forecaster) UnmarshalBinary(data []byte) error {
	var read image
	size, err := binary.Decode(data, binary.LittleEndian, &read)
	if err != nil || len(data) != size+crc32.Size || binary.LittleEndian.Uint32(data[size:]) != checksum(data[:size]) {
		return errors.New("read a forecaster's state: it is damaged, or of another version")
	}
	*f = Forecaster{epoch: time.Unix(0, read.Epoch), state: read.State} // without samples the epoch means nothing
	return nil
}

func checksum(data []byte) uint32 { return crc32.Update(format, crc32.IEEETable, data) }
