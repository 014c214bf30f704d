package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"vramscope/internal/text"
)

// Text is a string that is unknown if it is empty.
type Text string

// MarshalJSON writes null for an empty text.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return null, nil
	}
	if !strings.ContainsFunc(string(t), escaped) {
		return append(append(append(make([]byte, 0, len(t)+2), '"'), t...), '"'), nil
	}
	// A command line may have any bytes, but JSON must be UTF-8.
	return json.Marshal(strings.ToValidUTF8(string(t), "\uFFFD"))
}

var null = []byte("null") // never changed: json copies it

// escaped reports whether a character is not ASCII, or json.Marshal may escape it.
func escaped(r rune) bool {
	return r < ' ' || r > '~' || r == '"' || r == '\\' || r == '<' || r == '>' || r == '&'
}

// Time is RFC 3339 with milliseconds; the zero time is unknown.
type Time time.Time

// MarshalJSON writes null for the zero time.
func (t Time) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return null, nil
	}
	return time.Time(t).AppendFormat(nil, `"2006-01-02T15:04:05.000Z07:00"`), nil
}

// UnmarshalJSON reads the output of MarshalJSON.
func (t *Time) UnmarshalJSON(encoded []byte) error {
	var at time.Time // stays zero for null
	err := json.Unmarshal(encoded, &at)
	*t = Time(at)
	return err
}

// Encode returns a document as indented JSON that is safe to show in a terminal.
func Encode(value any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return text.EscapeJSON(buf.Bytes()), nil
}

// Texts converts a list. The result is never nil, so its JSON is never null.
func Texts(words []string) []Text { return List(words, func(word *string) Text { return Text(*word) }) }

// List converts a list. The result is never nil, so its JSON is never null.
func List[To, From any](from []From, convert func(*From) To) []To {
	out := make([]To, len(from))
	for i := range from {
		out[i] = convert(&from[i])
	}
	return out
}
