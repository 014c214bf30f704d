package probetest

import (
	"encoding/json"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	var value any
	if err := in.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestMatch(t *testing.T) {
	for _, c := range []struct{ want, right, wrong string }{
		{`{"a":1}`, `{"a":1,"b":2}`, `{"b":1}`},
		{`{"a":null}`, `{"a":null}`, `{}`},
		{`{"a":1}`, `{"a":1}`, `{"a":"1"}`},
		{`[1,2]`, `[1,2]`, `[1,2,3]`},
		{`{"a":"$absent"}`, `{}`, `{"a":null}`},
		{`{"a":"$any"}`, `{"a":null}`, `{}`},
		{`"$int"`, `9007199254740992`, `-1`},
		{`"$int"`, `7`, `7.0`},
		{`"$bytes"`, `0`, `1125899906842625`},
		{`"$difference"`, `-5`, `"5"`},
		{`"$uuid"`, `"MIG-1f"`, `"0"`},
		{`"$number"`, `1.5`, `"1.5"`},
		{`"$bool"`, `false`, `0`},
		{`"$time"`, `0`, ``},
		{`{"$each":"$string"}`, `["a"]`, `["a",1]`},
		{`{"a":{"$optional":"$int"}}`, `{}`, `{"a":null}`},
		{`{"$one_of":[1,2]}`, `2`, `3`},
		{`{"$totals":true}`, `{"reserved_bytes":5,"allocated_bytes":3,"cached_bytes":2,"fragmented_bytes":0}`, `{"reserved_bytes":5,"allocated_bytes":3,"cached_bytes":1,"fragmented_bytes":0}`},
		{`{"$totals":true}`, `{"reserved_bytes":5,"allocated_bytes":3}`, `{"reserved_bytes":5,"returnable_bytes":6}`},
	} {
		want := parse(t, c.want)
		if c.want == `"$time"` {
			if match(want, parse(t, c.right)) == nil {
				t.Error("1970 is not a minute ago")
			}
			continue
		}
		if err := match(want, parse(t, c.right)); err != nil {
			t.Errorf("%s refuses %s: %v", c.want, c.right, err)
		}
		if match(want, parse(t, c.wrong)) == nil {
			t.Errorf("%s accepts %s", c.want, c.wrong)
		}
	}
	for _, unknown := range []string{`"$inn"`, `{"$eech":1}`} {
		if match(parse(t, unknown), json.Number("1")) == nil {
			t.Errorf("the rule %s is accepted", unknown)
		}
	}
}
