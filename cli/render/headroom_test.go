package render

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// The text gives the answer in a line, and uses only ASCII if asked to.
func TestHeadroomText(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 11))
	for range 2000 {
		q := headroom.Question{Need: quantity.Bytes(random.Int64N(int64(80 * quantity.GiB))), Count: 1 + random.IntN(5)}
		r := headroom.Judge(snapshottest.DrawnBox(), nil, q)
		if text := HeadroomText(&r, SignsFor(true), 0); !strings.Contains(text, r.Sentence()) || strings.ContainsFunc(text, func(c rune) bool { return c > 0x7e }) {
			t.Fatalf("the text is %q", text)
		}
	}
}

func TestHeadroomJSON(t *testing.T) {
	snap := snapshottest.DrawnBox()
	r := headroom.Judge(snap, nil, headroom.Question{Need: 20 * quantity.GiB, Count: 2})
	document := HeadroomDocument(&r)
	content, err := schema.Encode(document)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema   string
		Headroom struct {
			Need   int64 `json:"need_bytes"`
			For    *float64
			Answer string
			Places []struct {
				GPU      int
				Instance *int `json:"gpu_instance"`
				UUID     string
				Verdict  string
				Free     *int64 `json:"free_bytes"`
				Short    *int64 `json:"short_bytes"`
				Low      *struct{}
			}
		}
	}
	if err := json.Unmarshal(content, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != schema.Version || doc.Headroom.Need != 20<<30 || doc.Headroom.For != nil || doc.Headroom.Answer != string(r.Answer) || len(doc.Headroom.Places) != 10 {
		t.Fatalf("%s", content)
	}
	for i, p := range doc.Headroom.Places {
		h := &r.Places[i]
		if p.UUID != h.UUID() || p.Verdict != string(h.Verdict) || (p.Instance != nil) != (h.Instance != nil) || p.Low != nil ||
			(p.Short == nil) != (h.Verdict == headroom.Unknown) || (p.Free == nil) != !h.Free.Known() {
			t.Errorf("place %s: %+v", h.Label, p)
		}
	}
}
