package schema

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzIndented: indented is json.Indent.
func FuzzIndented(f *testing.F) {
	for _, document := range []string{
		`{}`, `[]`, `[[],{}]`, `null`, `"a\\\"{,:}"`, `{"a":{"b":[1,-2.5e3,"",null]},"c":[{}],"d":"\\"}`, "[1]\n",
	} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, document) != nil {
			t.Skip("it is no JSON")
		}
		if err := json.Indent(&want, compact.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got := indented(compact.Bytes()); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s: got\n%s\nwant\n%s", document, got, want.Bytes())
		}
	})
}
