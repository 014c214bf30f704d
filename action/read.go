package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"vramscope/internal/bounded"
)

// Read visits the lines of the log. A missing log has none.
func (l *Log) Read(visit func(*Entry)) error {
	file, err := os.Open(l.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	defer func() { _ = file.Close() }() // the log was only read
	lines := bounded.Lines(file, 1<<20)
	for lines.Scan() {
		var e Entry
		if json.Unmarshal(lines.Bytes(), &e) == nil { // a line that cannot be read is skipped
			visit(&e)
		}
	}
	return lines.Err()
}

// At returns when a line was written; the zero time if that cannot be read.
func (e *Entry) At() time.Time {
	at, _ := time.Parse(timeLayout, e.Time)
	return at
}
