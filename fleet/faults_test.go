package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

// engineAt returns a source for a server of the test.
func engineAt(t *testing.T, url, httpConfig string) *Prometheus {
	t.Helper()
	p, _, err := NewPrometheus(url, httpConfig)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

func answering(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>no</html>", code) }
}

// TestErrorsSayWhatToDo: each of these faults of an engine or of the connection has its own message.
func TestErrorsSayWhatToDo(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	secret := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "right" {
			status(http.StatusUnauthorized)(w, r)
			return
		}
		answering(`{"status":"success","data":[]}`)(w, r)
	})
	tls := httptest.NewTLSServer(answering(`{"status":"success","data":[]}`))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(tls.Close)
	for _, c := range []struct{ name, url, want string }{
		{"refused", "http://" + closed.Addr().String(), "not reached: "},
		{"no such host", "http://no-such-host.invalid:9090", "no such host"},
		{"no credentials", secret, "401: it wants other credentials"},
		{"forbidden", serve(t, status(http.StatusForbidden)), "403"},
		{"another path", serve(t, status(http.StatusNotFound)), "404: no Prometheus API at this URL"},
		{"starting", serve(t, status(http.StatusServiceUnavailable)), "503: it is not ready"},
		{"no Prometheus", serve(t, answering("<html>hello</html>")), "no Prometheus"},
		{"no GPUs", serve(t, answering(`{"status":"success","data":[]}`)), "no series of GPUs"},
		{"an unknown certificate", tls.URL, "tls_config.ca_file"},
		{"TLS to a plain server", strings.Replace(secret, "http:", "https:", 1), "http:// instead of https://"},
		{"no TLS to a TLS server", strings.Replace(tls.URL, "https:", "http:", 1), "https:// instead of http://"},
		{"many rows", serve(t, answering(`{"status":"success","data":[`+strings.Repeat("{},", maxObjects)+`{}]}`)), "more than 200000 objects"},
		{"huge", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			chunk := []byte(strings.Repeat("x", 1<<20))
			for range maxAnswer>>20 + 2 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}), "larger than 16 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := engineAt(t, c.url, "").Look(t.Context(), Query{Lines: 10})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "client.yml")
	if err := os.WriteFile(file, []byte("basic_auth: {username: u, password: right}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := engineAt(t, secret, file).Look(t.Context(), Query{Lines: 10}); !errors.Is(err, ErrNoGPUs) {
		t.Errorf("with the right credentials: %v", err)
	}
	if err := os.WriteFile(file, []byte("basic_auth: {username: u, password_file: /proc/none}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := engineAt(t, secret, file).Look(t.Context(), Query{Lines: 10}); err == nil || strings.Contains(err.Error(), "query") || !strings.Contains(err.Error(), "/proc/none") {
		t.Errorf("without its password file: %v", err)
	}
}

// TestPartialDataIsSaid: if a part of an engine is not reached, or one of several queries fails, the picture
// has the problem and the other data.
func TestPartialDataIsSaid(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		switch query := r.Form.Get("query"); {
		case strings.Contains(r.URL.Path, "/label/"):
			answering(`{"status":"success","data":["vramscope_gpu_memory_used_bytes"]}`)(w, r)
		case strings.Contains(query, "vramscope_alerts"):
			w.WriteHeader(http.StatusServiceUnavailable)
			answering(`{"status":"error","errorType":"timeout","error":"query timed out"}`)(w, r)
		case strings.HasPrefix(query, "topk") && strings.Contains(query, "(vramscope_gpu_memory_used"):
			answering(`{"status":"success","warnings":["store 2 did not\u001b[2J answer"],"data":{"resultType":"vector","result":[{"metric":{"instance":"a:1","uuid":"GPU-1"},"value":[1795373837,"0.5"]}]}}`)(w, r)
		default:
			answering(`{"status":"success","data":{"resultType":"vector","result":[]}}`)(w, r)
		}
	})
	pic, err := engineAt(t, url, "").Look(t.Context(), Query{Lines: 10, Unit: GPUs})
	if err != nil || len(pic.Lines) != 1 || pic.Lines[0].GPU.Memory.Used.Known() {
		t.Fatalf("%+v, %v", pic, err)
	}
	sums, err := engineAt(t, url, "").Totals(t.Context(), Query{}) // an empty result counts 0
	if err != nil || sums.Boxes != quantity.From(0, quantity.Computed) || sums.Boxes != sums.GPUs || sums.Boxes != sums.Down {
		t.Errorf("%+v, %v", sums, err)
	}
	said := strings.Join(pic.Problems, "\n")
	if !strings.Contains(said, "alert: the query took too long") && !strings.Contains(said, "alert: 503") || !strings.Contains(said, "store 2 did not") || strings.Contains(said, "\x1b") {
		t.Errorf("%q", pic.Problems)
	}
}

func TestASlowEngineIsGivenUp(t *testing.T) {
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := engineAt(t, slow, "").Look(ctx, Query{Lines: 10}); err == nil || !strings.Contains(err.Error(), "no answer in") {
		t.Errorf("%v", err)
	}
	busy := engineAt(t, slow, "")
	for range maxQueries { // earlier queries hold all slots
		busy.api.slots <- struct{}{}
	}
	if _, err := busy.Look(ctx, Query{Lines: 10}); err == nil {
		t.Error("it answers")
	}
}

func TestAURLOfNoEngineIsRefused(t *testing.T) {
	for _, url := range []string{"", "prometheus:9090", "ftp://x", "http://", "http://x\x1b[2J"} {
		if _, _, err := NewPrometheus(url, ""); err == nil {
			t.Errorf("%q is taken", url)
		}
	}
	if _, name, err := NewPrometheus("http://u:secret@h:9090", ""); err != nil || strings.Contains(name, "secret") {
		t.Errorf("a password is shown: %q, %v", name, err)
	}
}

func TestDestinations(t *testing.T) {
	for _, good := range []string{"h100-03", "alice@h100-03.example.org", "10.0.0.7", "fe80::1", "box_1"} {
		if _, err := Destination(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "-oProxyCommand=touch /tmp/x", "a b", "a;b", "$(a)", "a\nb", "a\x1b[2J", "@h", "-l@h", "h/", "a@-oX", "a@b@c", strings.Repeat("h", 400)} {
		if _, err := Destination(bad); err == nil {
			t.Errorf("%q is taken", bad)
		} else if strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q is shown as it is", bad)
		}
	}
}

func TestFilters(t *testing.T) {
	for _, good := range []string{"", "h100", "user=alice state=down", "host=h1 job=88 x"} {
		if f, err := ParseFilter(good); err != nil || f.String() != good {
			t.Errorf("%q is %q: %v", good, f, err)
		}
	}
	for _, bad := range []string{"state=odd", "colour=red", "user=", "=x", strings.Repeat("x", 200), "host=\xff", strings.Repeat("x ", mostTerms+1)} {
		if _, err := ParseFilter(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
