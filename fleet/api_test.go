package fleet

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

func TestSamplesAreRead(t *testing.T) {
	for text, want := range map[string]sample{
		`[1795373837.123,"0.5"]`:      {time.UnixMilli(1795373837123), .5},
		`[ 1795373837 , "-1.2e+09" ]`: {time.UnixMilli(1795373837000), -1.2e9},
		`[0,"+Inf"]`:                  {time.UnixMilli(0), math.Inf(1)},
	} {
		var got sample
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.value != want.value || !got.at.Equal(want.at) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	var got sample
	if err := json.Unmarshal([]byte(`[0,"NaN"]`), &got); err != nil || !math.IsNaN(got.value) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{`[]`, `[1]`, `"1"`, `{}`, `[1,"x"]`, `["1","1","2"]`, `[1e300,"1"]`} {
		if json.Unmarshal([]byte(text), &got) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// TestPastHasNoNumbersThatAreNone: NaN, infinite and impossible values are gaps.
func TestPastHasNoNumbersThatAreNone(t *testing.T) {
	url := serve(t, answering(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"vramscope_gpu_memory_used_bytes","uuid":"GPU-1","gpu":"0"},`+
		`"values":[[1,"NaN"],[2,"+Inf"],[3,"5"],[4,"1e300"]]},{"metric":{"__name__":"vramscope_gpu_memory_used_bytes","uuid":"GPU-2"},"values":[[1,"NaN"]]}]}}`))
	past, err := engineAt(t, url, "").Past(t.Context(), "a", time.Unix(0, 0), time.Unix(9, 0))
	key := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: "GPU-1"}
	if err != nil || len(past) != 1 || len(past[key]) != 1 || past[key][0].Value != 5 {
		t.Errorf("%v, %v", past, err)
	}
}

// TestAddressesThatAreRefused: the error does not contain a password.
func TestAddressesThatAreRefused(t *testing.T) {
	for _, address := range []string{"", "host:9090", "ftp://u:secret@h", "http://u:secret@h:port", "http://u:%zzsecret@h", "u:secret@h:9090"} {
		if _, _, err := NewPrometheus(address, ""); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "is no URL of a Prometheus") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestAnEngineWithoutPOST: if POST is refused, queries are sent by GET, because a proxy may let only GET
// through.
func TestAnEngineWithoutPOST(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			status(http.StatusMethodNotAllowed)(w, r)
		case r.URL.Path == "/prometheus/api/v1/query" && r.FormValue("query") == "1 + x" && r.FormValue("time") == "1795373837.5":
			answering(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"2"]}]}}`)(w, r)
		default:
			status(http.StatusNotFound)(w, r)
		}
	})
	got, err := engineAt(t, url+"/prometheus/", "").ask(t.Context(), "1 + x", time.UnixMilli(1795373837500))
	if err != nil || len(got) != 1 || got[0].value != 2 || got[0].label("a") != "b" {
		t.Errorf("%v, %v", got, err)
	}
}
