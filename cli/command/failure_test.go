package command

import (
	"bytes"
	"strings"
	"testing"

	"vramscope/internal/text"
)

// The message and the advice of an error can contain names of files and processes that an attacker chose.
func TestHostileTextInAnError(t *testing.T) {
	for _, bad := range []string{
		"\x1b]0;gotcha\a\x1b[2J\u009b31m\u202ereversed\x7f\xff\xfe\nnext,\"line\"\t",
		"\u2066\u200b\u200d\u2028\u2029\ufeff\u00ad\u034f\u061c\u2060\ufe0f\u115f\u3164\ue000\U000e0041\U000e0100\u0085",
	} {
		var out bytes.Buffer
		Report(&out, &Failure{Message: bad, Next: []string{strings.ReplaceAll(bad, "\n", "")}})
		if raw := strings.ReplaceAll(out.String(), "\n", ""); text.Clean(raw) != raw {
			t.Errorf("an error of %q has a character that the terminal must not get: %q", bad, raw)
		}
	}
}
