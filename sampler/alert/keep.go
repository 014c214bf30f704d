package alert

import (
	"encoding/gob"
	"fmt"
	"strings"

	"vramscope/sampler/snapshot"
)

// MarshalBinary encodes the Evaluator's state.
func (e *Evaluator) MarshalBinary() ([]byte, error) {
	var b strings.Builder
	if err := gob.NewEncoder(&b).Encode(&e.past); err != nil {
		return nil, fmt.Errorf("alert: save: %w", err)
	}
	return []byte(b.String()), nil
}

// Restore takes over the state of another Evaluator, whose last snapshot was
// last: alerts that stand stay, and those nearly raised do not start over.
// Where it fails the Evaluator is of no use.
func (e *Evaluator) Restore(data []byte, last *snapshot.Snapshot) error {
	if err := gob.NewDecoder(strings.NewReader(string(data))).Decode(&e.past); err != nil {
		return fmt.Errorf("alert: restore: %w", err)
	}
	for id, t := range e.Rows {
		if t.row = last.Row(id); t.row != nil {
			continue
		}
		ended := last.EndedRow(id)
		if ended == nil {
			delete(e.Rows, id) // its process is unknown
			continue
		}
		t.row, t.ended = &ended.Last, true
	}
	return nil
}
