package fleet

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestFiltersNarrowWhatTheEngineReads: if at most fewest boxes match a filter, queries for figures name
// these boxes. Otherwise the engine filters.
func TestFiltersNarrowWhatTheEngineReads(t *testing.T) {
	for boxes, want := range map[int]string{2: `instance=~"box0:1|box1:1"`, 0: `instance=~""`, fewest + 1: "and on (instance,uuid) (vramscope_process_info"} {
		var mu sync.Mutex
		var asked []string
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			query := r.Form.Get("query")
			if strings.Contains(r.URL.Path, "/label/") {
				answering(`{"status":"success","data":["vramscope_gpu_memory_used_bytes"]}`)(w, r)
				return
			}
			var found []string
			if strings.HasPrefix(query, "group by (instance)") {
				for i := range boxes {
					found = append(found, fmt.Sprintf(`{"metric":{"instance":"box%d:1"},"value":[1795373837,"1"]}`, i))
				}
			} else {
				mu.Lock()
				asked = append(asked, query)
				mu.Unlock()
			}
			answering(`{"status":"success","data":{"resultType":"vector","result":[`+strings.Join(found, ",")+`]}}`)(w, r)
		})
		f, _ := ParseFilter("user=alice")
		if _, err := engineAt(t, url, "").Look(t.Context(), Query{Lines: 10, Unit: GPUs, Filter: f}); err != nil {
			t.Fatal(err)
		}
		for _, query := range asked {
			if !strings.Contains(query, want) && !strings.Contains(query, "last_sample") && !strings.HasPrefix(query, "count("+recordedShare+")") && !strings.HasPrefix(query, "count without") {
				t.Errorf("%d boxes: %s", boxes, query)
			}
			if strings.Contains(query, "up{") {
				t.Errorf("no process is known of a box that is down: %s", query)
			}
		}
		if len(asked) < 3 {
			t.Errorf("%d boxes: asked %q", boxes, asked)
		}
	}
}

// TestQueriesGrowWithTheFilter: queries do not grow exponentially with the number of words.
func TestQueriesGrowWithTheFilter(t *testing.T) {
	longest := func(words int) int {
		f, err := ParseFilter(strings.Repeat("word ", words))
		if err != nil {
			t.Fatal(err)
		}
		a := &asking{exporters: exporters, jobs: []string{"vramscope"}, query: Query{Lines: 10, Unit: GPUs, Filter: f}}
		size := len(a.ranked())
		for _, q := range a.totals() {
			size = max(size, len(q))
		}
		for _, q := range a.problems() {
			size = max(size, len(q))
		}
		return size
	}
	if one, six := longest(1), longest(6); six > 10*one {
		t.Errorf("one word: %d bytes, six: %d", one, six)
	}
}

// TestSumsOfSeveralEnginesAreNotTaken: if an engine asks several others, recorded sums of users have more
// labels, and two sums may count the same GPU. The queries then use the series of each GPU.
func TestSumsOfSeveralEnginesAreNotTaken(t *testing.T) {
	alices, _ := ParseFilter("user=alice")
	host, _ := ParseFilter("host=box")
	for _, c := range []struct {
		unit   Unit
		filter Filter
		labels string // of the sums
		want   string
	}{
		{Users, nil, `{}`, "user:vramscope_"},
		{Users, alices, `{}`, "user:vramscope_"},
		{Users, host, `{}`, "gpu_user_job:vramscope_"},
		{Users, nil, `{"cluster":"a"}`, "gpu_user_job:vramscope_"},
		{Jobs, nil, `{}`, "user_job:vramscope_"},
		{Jobs, nil, `{"cluster":"a"}`, "gpu_user_job:vramscope_"},
	} {
		var mu sync.Mutex
		var ranking string
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			query, found := r.Form.Get("query"), ""
			switch {
			case strings.Contains(r.URL.Path, "/label/"):
				answering(`{"status":"success","data":["vramscope_gpu_memory_used_bytes"]}`)(w, r)
				return
			case strings.HasPrefix(query, "topk("):
				mu.Lock()
				ranking = query
				mu.Unlock()
			case strings.HasPrefix(query, "count without"):
				found = `{"metric":` + c.labels + `,"value":[1795373837,"1"]}`
			case strings.HasPrefix(query, "count("+recordedShare), strings.HasPrefix(query, "group by (instance)"):
				found = `{"metric":{"instance":"box:1"},"value":[1795373837,"1"]}`
			}
			answering(`{"status":"success","data":{"resultType":"vector","result":[`+found+`]}}`)(w, r)
		})
		if _, err := engineAt(t, url, "").Look(t.Context(), Query{Lines: 10, Unit: c.unit, Sort: ByUsed, Filter: c.filter}); err != nil {
			t.Fatal(err)
		}
		if at := strings.Index(ranking, c.want); at < 0 || at > 0 && ranking[at-1] == '_' {
			t.Errorf("%s %v %s: %s", c.unit.Word(), c.filter, c.labels, ranking)
		}
	}
}
