package exporter

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"vramscope/sampler/snapshot/snapshottest"
)

// TestSnapshotJSON: /snapshot.json is served only with Options.Snapshot, and without the arguments of command lines.
func TestSnapshotJSON(t *testing.T) {
	snap := snapshottest.DrawnBox()
	if w := get(t, exporting(snap), "/snapshot.json"); w.Code != http.StatusNotFound {
		t.Errorf("unasked: %d", w.Code)
	}
	before := strings.Join(snap.Rows[0].Command, " ")
	w := get(t, exporting(snap, func(o *Options) { o.Snapshot = true }), "/snapshot.json")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"schema": "vramscope/1"`) && !strings.Contains(w.Body.String(), `"schema":"vramscope/1"`) {
		t.Errorf("%d: %.300s", w.Code, w.Body)
	}
	if strings.Contains(w.Body.String(), "--cfg") {
		t.Error("it has arguments")
	}
	if strings.Join(snap.Rows[0].Command, " ") != before {
		t.Error("the snapshot was changed")
	}
}

// stalled is a client that reads nothing.
type stalled struct {
	http.ResponseWriter
	writing, release chan struct{}
}

func (s *stalled) Write(p []byte) (int, error) {
	select {
	case s.writing <- struct{}{}:
	default: // a later call
	}
	<-s.release
	return len(p), nil
}

// TestSlowClientsHoldNoScrape: up to mostAnswers clients that read slowly do not keep another client from
// a scrape.
func TestSlowClientsHoldNoScrape(t *testing.T) {
	handler := exporting(snapshottest.DrawnBox(), func(o *Options) { o.Snapshot = true }).Handler()
	for _, path := range []string{"/metrics", "/snapshot.json"} {
		t.Run(path, func(t *testing.T) { slowClients(t, handler, path) })
	}
}

func slowClients(t *testing.T, handler http.Handler, path string) {
	code := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code
	}
	release := make(chan struct{})
	var ended sync.WaitGroup
	for n := range mostAnswers {
		if got := code(); got != http.StatusOK {
			t.Errorf("beside %d slow ones: %d", n, got)
		}
		slow := &stalled{httptest.NewRecorder(), make(chan struct{}, 1), release}
		ended.Go(func() { handler.ServeHTTP(slow, httptest.NewRequest(http.MethodGet, path, nil)) })
		<-slow.writing
	}
	if got := code(); got != http.StatusServiceUnavailable {
		t.Errorf("beside %d slow ones: %d", mostAnswers, got)
	}
	close(release)
	ended.Wait()
	if got := code(); got != http.StatusOK {
		t.Errorf("afterwards: %d", got)
	}
}

// TestScrapesAreLimited: more than mostScrapes scrapes at the same time are refused.
func TestScrapesAreLimited(t *testing.T) {
	e := exporting(snapshottest.DrawnBox())
	handler := e.Handler()
	e.mu.Lock() // no scrape can end
	refused := make(chan int)
	for range 3 * mostScrapes {
		go func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			refused <- w.Code
		}()
	}
	for range 2 * mostScrapes {
		if code := <-refused; code != http.StatusServiceUnavailable {
			t.Errorf("%d", code)
		}
	}
	e.mu.Unlock()
	for range mostScrapes {
		if code := <-refused; code != http.StatusOK {
			t.Errorf("one of the first: %d", code)
		}
	}
}

// TestNegotiation: a client gets the format and the compression that it prefers.
func TestNegotiation(t *testing.T) {
	const prometheus3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4," +
		"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
	const protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;version=0.0.4;q=.3"
	for _, c := range []struct{ accept, encoding, format, compression string }{
		{"", "", classic, ""},
		{"*/*", "*", classic, ""},
		{"application/json", "deflate", classic, ""},
		{protobuf, "gzip", classic, "gzip"},
		{prometheus3, "gzip;q=0", "application/openmetrics-text; version=1.0.0; charset=utf-8", ""},
		{"application/openmetrics-text", "br, gzip;q=0.5", "application/openmetrics-text; version=1.0.0; charset=utf-8", "gzip"},
		{"application/openmetrics-text; version=0.0.1", "gzip;q=.2, identity;q=.5", "application/openmetrics-text; version=0.0.1; charset=utf-8", ""},
		{"application/openmetrics-text;version=2.0.0", "", classic, ""},
		{"text/plain;q=.2,application/openmetrics-text;q=.1", "", classic, ""},
		{"application/openmetrics-text;q=x, text/html", ";;,=", classic, ""},
	} {
		w := get(t, exporting(snapshottest.DrawnBox()), "/metrics", "Accept", c.accept, "Accept-Encoding", c.encoding)
		if got, packed := w.Header().Get("Content-Type"), w.Header().Get("Content-Encoding"); got != c.format || packed != c.compression {
			t.Errorf("%q, %q: %q, %q", c.accept, c.encoding, got, packed)
		}
		if packed := strings.HasPrefix(w.Body.String(), "\x1f\x8b"); packed != (c.compression != "") || !packed && strings.HasSuffix(w.Body.String(), "# EOF\n") == (c.format == classic) {
			t.Errorf("%q, %q: %.40q", c.accept, c.encoding, w.Body)
		}
	}
}
