package exporter

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"vramscope/internal/needs"
	"vramscope/sampler/snapshot/snapshottest"
)

// log is what a server logs.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// serving serves the drawn box until the test ends.
func serving(t *testing.T, webConfig string) (address string, logged *log) {
	t.Helper()
	return servingAt(t, Serving{Address: "127.0.0.1:0", WebConfig: webConfig})
}

func servingAt(t *testing.T, at Serving) (address string, logged *log) {
	t.Helper()
	logged = &log{}
	s, err := Listen(exporting(snapshottest.DrawnBox()), at, slog.New(slog.NewTextHandler(logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.Address(), logged
}

// webConfig is a file of exporter-toolkit, in a folder with a certificate.
func webConfig(t *testing.T, content string) string {
	t.Helper()
	folder := t.TempDir()
	needs.Certificate(t, filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	path := filepath.Join(folder, "web.yml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const withTLS = "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"

func withPassword(t *testing.T) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return "basic_auth_users:\n  prometheus: " + string(hash) + "\n"
}

func TestServePlain(t *testing.T) {
	address, _ := serving(t, "")
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "vramscope_gpu_state{") {
		t.Errorf("%v, %.200s", err, body)
	}
	for path, want := range map[string]int{"/": http.StatusOK, "/metrics/": http.StatusNotFound, "/debug/pprof/": http.StatusNotFound} {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want || want == http.StatusOK && !strings.Contains(string(page), `href="/metrics"`) {
			t.Errorf("%s: %s, %.100s", path, resp.Status, page)
		}
	}
}

// TestServeTLSAndPassword: nothing is served to who has no password, over TLS or without it.
func TestServeTLSAndPassword(t *testing.T) {
	address, logged := serving(t, webConfig(t, withTLS+withPassword(t)))
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for password, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "right": http.StatusOK} {
		r, err := http.NewRequest(http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if password != "" {
			r.SetBasicAuth("prometheus", password)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want || want != http.StatusOK && strings.Contains(string(body), "vramscope_") {
			t.Errorf("password %q: %s, %.100s", password, resp.Status, body)
		}
	}
	if resp, err := http.Get("http://" + address + "/metrics"); err == nil {
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode == http.StatusOK {
			t.Errorf("without TLS: %.100s", body)
		}
		_ = resp.Body.Close()
	}
	if strings.Count(logged.String(), "\n") != 1 {
		t.Errorf("clients can write into the log:\n%s", logged)
	}
}

// TestServeOpenlyNeedsAFlag: what other machines reach asks for a password or a
// certificate, unless a person has said otherwise.
func TestServeOpenlyNeedsAFlag(t *testing.T) {
	password, plainTLS := webConfig(t, withPassword(t)), webConfig(t, withTLS)
	certificate := webConfig(t, withTLS+"  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: cert.pem\n")
	for _, c := range []struct {
		Serving
		want string
	}{
		{Serving{Address: "127.0.0.1:9841"}, ""},
		{Serving{Address: "[::1]:9841"}, ""},
		{Serving{Address: "localhost:9841"}, ""},
		{Serving{Address: ":9841"}, "add --serve-openly"},
		{Serving{Address: "0.0.0.0:9841"}, "add --serve-openly"},
		{Serving{Address: "[::]:9841"}, "add --serve-openly"},
		{Serving{Address: "gpu17:9841"}, "add --serve-openly"},
		{Serving{Address: ":9841", Openly: true}, ""},
		{Serving{Address: ":9841", WebConfig: plainTLS}, "add --serve-openly"},
		{Serving{Address: ":9841", WebConfig: password}, ""},
		{Serving{Address: ":9841", WebConfig: certificate}, ""},
		{Serving{Address: ":9841", WebConfig: webConfig(t, withTLS+"  client_auth_type: RequireAndVerifyClientCert\n")}, "client_ca_file"},
		{Serving{Address: ":9841", WebConfig: webConfig(t, withTLS+"  client_auth_type: RequireAnyClientCert\n  client_ca_file: cert.pem\n")}, "add --serve-openly"},
		{Serving{Address: "127.0.0.1:9841", WebConfig: "/proc/none"}, "/proc/none: no such file"},
		{Serving{Address: "127.0.0.1:9841", WebConfig: webConfig(t, "basic_auth_user:\n  a: b\n")}, "basic_auth_user not found"},
		{Serving{Address: "127.0.0.1:9841", WebConfig: webConfig(t, "basic_auth_users:\n  a: plain\n")}, "web.yml: "},
	} {
		if err := c.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.Serving, err)
		}
	}
}

// TestPasswordsThatAreRemoved: the web configuration is read anew for each request; what
// other machines reach is not served once it asks for no password.
func TestPasswordsThatAreRemoved(t *testing.T) {
	config := webConfig(t, withPassword(t))
	address, _ := servingAt(t, Serving{Address: "0.0.0.0:0", WebConfig: config})
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	status := func() (code int, body string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+port+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("prometheus", "right")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		content, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(content)
	}
	if code, _ := status(); code != http.StatusOK {
		t.Errorf("with the password: %d", code)
	}
	for _, content := range []string{"", "http_server_config:\n  http2: true\n"} {
		if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, body := status(); code != http.StatusServiceUnavailable || strings.Contains(body, "vramscope_") {
			t.Errorf("%q: %d, %.100s", content, code, body)
		}
	}
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	if code, body := status(); code == http.StatusOK {
		t.Errorf("without the file: %.100s", body)
	}
}

// TestUnfinishedRequests: clients that never end a request take a bounded number of
// connections; who comes then is answered when one of them is gone.
func TestUnfinishedRequests(t *testing.T) {
	address, _ := serving(t, "")
	var held []net.Conn
	for range mostConnections {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\n"); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	late := make(chan error, 1)
	go func() {
		resp, err := http.Get("http://" + address + "/healthz")
		if err == nil {
			err = resp.Body.Close()
		}
		late <- err
	}()
	select {
	case err := <-late:
		t.Fatalf("one more is answered: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	_ = held[0].Close()
	if err := <-late; err != nil {
		t.Error(err)
	}
}

func TestServerSaysWhyItEnds(t *testing.T) {
	s, err := Listen(New(Options{}), Serving{Address: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(New(Options{}), Serving{Address: s.Address()}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a second one: %v", err)
	}
	_ = s.listener.Close()
	if err := s.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "exporter: ") {
		t.Errorf("%v", err)
	}
}
