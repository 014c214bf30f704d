package exporter

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

// configFile writes a web configuration into a folder with a certificate, and returns its path.
func configFile(t *testing.T, content string) string {
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

// TestServeTLSAndPassword: a client without a password gets nothing, over TLS or without it.
func TestServeTLSAndPassword(t *testing.T) {
	address, logged := serving(t, configFile(t, withTLS+withPassword(t)))
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

// TestServeOpenlyNeedsAFlag: a port that other machines reach needs a password or a certificate, unless
// Serving.Openly is set.
func TestServeOpenlyNeedsAFlag(t *testing.T) {
	password, plainTLS := configFile(t, withPassword(t)), configFile(t, withTLS)
	certificate := configFile(t, withTLS+"  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: cert.pem\n")
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
		{Serving{Address: ":9841", WebConfig: configFile(t, withTLS+"  client_auth_type: RequireAndVerifyClientCert\n")}, "client_ca_file"},
		{Serving{Address: ":9841", WebConfig: configFile(t, withTLS+"  client_auth_type: RequireAnyClientCert\n  client_ca_file: cert.pem\n")}, "add --serve-openly"},
		{Serving{Address: "127.0.0.1:9841", WebConfig: "/proc/none"}, "/proc/none: no such file"},
		{Serving{Address: "127.0.0.1:9841", WebConfig: configFile(t, "basic_auth_user:\n  a: b\n")}, "basic_auth_user is not supported"},
		{Serving{Address: "127.0.0.1:9841", WebConfig: configFile(t, "basic_auth_users:\n  a: plain\n")}, "web.yml: "},
	} {
		if err := c.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.Serving, err)
		}
	}
}

// TestPasswordsThatAreRemoved: the web configuration is read again for each request. Once the file has no
// password, a port that other machines reach serves nothing.
func TestPasswordsThatAreRemoved(t *testing.T) {
	config := configFile(t, withPassword(t))
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

// TestAShortenedFileOpensNothing: while a file that had passwords has none, for example while it is being
// written, no client can read, not even on this machine.
func TestAShortenedFileOpensNothing(t *testing.T) {
	config := configFile(t, withPassword(t))
	address, _ := serving(t, config)
	get := func() int {
		resp, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if code := get(); code != http.StatusUnauthorized {
		t.Errorf("%d", code)
	}
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := get(); code != http.StatusServiceUnavailable {
		t.Errorf("of an empty file: %d", code)
	}
}

// TestUnfinishedRequests: connections of clients that never end a request are limited in number, and are
// closed for new ones.
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
	resp, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_ = held[0].SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := held[0].Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the oldest is open: %v", err)
	}
}

// TestAnswersAreNotCutOff: if all connections have a request, a new connection waits.
func TestAnswersAreNotCutOff(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := limitConnections(listener, 1)
	defer func() { _ = limited.Close() }()
	for range 2 {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	first, err := limited.Accept()
	if err != nil {
		t.Fatal(err)
	}
	limited.note(first, http.StateActive)
	second := make(chan error, 1)
	go func() {
		_, err := limited.Accept()
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("one more is accepted: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	limited.note(first, http.StateClosed)
	if err := <-second; err != nil {
		t.Error(err)
	}
}

func TestServerSaysWhyItEnds(t *testing.T) {
	s, err := Listen(New(Options{Now: time.Now}), Serving{Address: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(New(Options{Now: time.Now}), Serving{Address: s.Address()}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a second one: %v", err)
	}
	_ = s.listener.Close()
	if err := s.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "exporter: ") {
		t.Errorf("%v", err)
	}
}

// TestIdleConnectionsGiveWay: even if idle or silent connections reach the limit, every scrape is
// answered at once.
func TestIdleConnectionsGiveWay(t *testing.T) {
	for name, config := range map[string]string{"plain": "", "tls": configFile(t, withTLS)} {
		address, _ := serving(t, config)
		scheme, connect := "http://", func() (net.Conn, error) { return net.Dial("tcp", address) }
		if config != "" {
			scheme = "https://"
			connect = func() (net.Conn, error) {
				return tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
			}
		}
		for i := range 2 * mostConnections {
			c, err := connect()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if i%4 == 0 {
				continue // silent
			}
			if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
		}
		client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		for range 20 {
			resp, err := client.Get(scheme + address + "/healthz")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_ = resp.Body.Close()
		}
	}
}

// TestWrongPasswordsStopNoScrape: scrapes are answered while a hundred clients try different wrong
// passwords at the same time.
func TestWrongPasswordsStopNoScrape(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), 8)
	if err != nil {
		t.Fatal(err)
	}
	address, _ := serving(t, configFile(t, "basic_auth_users:\n  prometheus: "+string(hash)+"\n"))
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	scrape := func(password string) (int, error) {
		r, err := http.NewRequest(http.MethodGet, "http://"+address+"/healthz", nil)
		if err != nil {
			return 0, err
		}
		r.SetBasicAuth("prometheus", password)
		resp, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	if code, err := scrape("right"); err != nil || code != http.StatusOK {
		t.Fatalf("alone: %d, %v", code, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	var refused, limited atomic.Int32
	for i := range 100 {
		flood.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				switch code, err := scrape(fmt.Sprintf("wrong %d %d", i, n)); {
				case err != nil:
					t.Errorf("a wrong one: %v", err)
					return
				case code == http.StatusUnauthorized:
					refused.Add(1)
				case code == http.StatusTooManyRequests:
					limited.Add(1)
				default:
					t.Errorf("a wrong one: %d", code)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	slowest := time.Duration(0)
	for range 50 {
		began := time.Now()
		if code, err := scrape("right"); err != nil || code != http.StatusOK {
			t.Errorf("a right one: %d, %v", code, err)
		}
		slowest = max(slowest, time.Since(began))
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	flood.Wait()
	if limited.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d are refused, %d have to wait", refused.Load(), limited.Load())
	}
	t.Logf("the slowest scrape took %s beside %d wrong passwords", slowest, refused.Load()+limited.Load())
}
