package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// clientCertificate writes a new certificate and its key into a folder.
func clientCertificate(t *testing.T, folder, name string) *x509.Certificate {
	t.Helper()
	path := filepath.Join(folder, name)
	return needs.Certificate(t, path+".pem", path+".key", x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// configFile writes a file for --http-config, and returns its path.
func configFile(t *testing.T, folder, text string) string {
	t.Helper()
	path := filepath.Join(folder, "client.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestClientCertificates: an engine that needs a certificate answers only a client with the right one.
func TestClientCertificates(t *testing.T) {
	folder := t.TempDir()
	known := x509.NewCertPool()
	known.AddCert(clientCertificate(t, folder, "right"))
	clientCertificate(t, folder, "wrong")
	s := httptest.NewUnstartedServer(answering(`{"status":"success","data":[]}`))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(folder, "ca.pem"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ certificate, want string }{
		{"", "tls_config.cert_file"},
		{"wrong", "tls_config.cert_file"},
		{"right", ErrNoGPUs.Error()},
	} {
		text := "tls_config:\n  ca_file: ca.pem\n"
		if c.certificate != "" {
			text += fmt.Sprintf("  cert_file: %[1]s.pem\n  key_file: %[1]s.key\n", c.certificate)
		}
		_, err := engineAt(t, s.URL, configFile(t, folder, text)).Look(t.Context(), Query{Lines: 10})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("certificate %q: %v", c.certificate, err)
		}
	}
}

// TestProxy: queries go through the proxy of --http-config, which alone resolves the engine's name.
func TestProxy(t *testing.T) {
	const url = "http://engine.invalid:9090"
	asked := ""
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Scheme + "://" + r.URL.Host
		if r.Header.Get("Proxy-Authorization") == "" {
			status(http.StatusProxyAuthRequired)(w, r)
			return
		}
		answering(`{"status":"success","data":[]}`)(w, r)
	})
	for address, want := range map[string]string{
		proxy: "407: the proxy wants other credentials",
		strings.Replace(proxy, "://", "://user:password@", 1): ErrNoGPUs.Error(),
	} {
		asked = ""
		_, err := engineAt(t, url, configFile(t, t.TempDir(), "proxy_url: "+address+"\n")).Look(t.Context(), Query{Lines: 10})
		if err == nil || !strings.Contains(err.Error(), want) || asked != url {
			t.Errorf("%s: asked for %q, %v", address, asked, err)
		}
	}
}

// TestKeysAreRefusedByName: a file with a key that is not supported, or keys that contradict
// each other, is refused before anything is sent.
func TestKeysAreRefusedByName(t *testing.T) {
	for content, want := range map[string]string{
		"oauth2: {client_id: a}\n":                             "line 1: oauth2 is not supported: authorization with a credentials_file",
		"bearer_token: a\n":                                    "bearer_token is not supported: use authorization",
		"proxy_url: http://p\nno_proxy: a\n":                   "line 2: no_proxy is not supported: leave proxy_url out",
		"basic_auth:\n  user: a\n":                             "line 2: user is not supported: docs/fleet.md",
		"tls_config: {ca_ref: a}\n":                            "ca_ref is not supported",
		"basic_auth: {password: a, password_file: b}\n":        "basic_auth.password and basic_auth.password_file exclude",
		"basic_auth: {username: a}\nauthorization: {}\n":       "basic_auth and authorization exclude",
		"authorization: {type: Basic}\n":                       "use basic_auth",
		"tls_config: {cert: a}\n":                              "both a certificate and its key",
		"tls_config: {min_version: TLS13, max_version: TLS12}": "max_version is below",
		"tls_config: {min_version: TLS14}\n":                   "unknown TLS version: TLS14",
		"tls_config: {ca: a}\n":                                "no certificate in tls_config.ca",
		"tls_config: {ca_file: none.pem}\n":                    "none.pem: no such file",
		"proxy_url: \"http://u:secret@h\\x7f\"\n":              "proxy_url is no URL",
		"basic_auth: [a\n":                                     "line 1",
	} {
		file := configFile(t, t.TempDir(), content)
		if _, _, err := NewPrometheus("http://h:9090", file); err == nil || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// TestHeaders: an engine gets the credentials and headers of the file, and the present content of the files
// that it names.
func TestHeaders(t *testing.T) {
	folder, sent := t.TempDir(), http.Header{}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header
		answering(`{"status":"success","data":[]}`)(w, r)
	})
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for content, want := range map[string]string{
		"authorization: {credentials: right}\n":                              "Bearer right",
		"authorization: {type: Token, credentials_file: secret}\n":           "Token right",
		"basic_auth: {username_file: secret, password_file: secret}\n":       "Basic cmlnaHQ6cmlnaHQ=",
		"http_headers: {X-Scope-OrgID: {values: [a, b], files: [secret]}}\n": "",
	} {
		write("secret", "wrong\n")
		engine := engineAt(t, url, configFile(t, folder, content))
		write("secret", "right\n")
		if _, err := engine.Look(t.Context(), Query{Lines: 10}); !errors.Is(err, ErrNoGPUs) {
			t.Errorf("%s: %v", content, err)
		}
		if got := sent.Get("Authorization"); got != want || sent.Get("User-Agent") != "vramscope" {
			t.Errorf("%s: %q", content, got)
		}
		if got := sent.Values("X-Scope-OrgID"); want == "" && !slices.Equal(got, []string{"a", "b", "right"}) {
			t.Errorf("%q", got)
		}
	}
}

// TestRedirectsAreFollowedUnlessTheFileSaysNo: no credentials are sent to another host.
func TestRedirectsAreFollowedUnlessTheFileSaysNo(t *testing.T) {
	sent := "nothing"
	const credentials = "authorization: {credentials: secret}\nhttp_headers: {X-Api-Key: {secrets: [secret]}}\n"
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
		answering(`{"status":"success","data":[]}`)(w, r)
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(target, "127.0.0.1", "localhost", 1)+r.URL.String(), http.StatusTemporaryRedirect)
	})
	if _, err := engineAt(t, url, configFile(t, t.TempDir(), credentials)).Look(t.Context(), Query{Lines: 10}); !errors.Is(err, ErrNoGPUs) || sent != "" {
		t.Errorf("%v, with credentials %q", err, sent)
	}
	if _, err := engineAt(t, url, configFile(t, t.TempDir(), credentials+"follow_redirects: false\n")).Look(t.Context(), Query{Lines: 10}); err == nil || !strings.Contains(err.Error(), "307 Temporary Redirect") {
		t.Errorf("not followed: %v", err)
	}
}

// TestHTTP2: HTTP/2 is used over TLS unless the file turns it off.
func TestHTTP2(t *testing.T) {
	var version int
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version = r.ProtoMajor
		answering(`{"status":"success","data":[]}`)(w, r)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	for content, want := range map[string]int{"": 2, "enable_http2: false\n": 1} {
		_, err := engineAt(t, s.URL, configFile(t, t.TempDir(), content+"tls_config: {insecure_skip_verify: true}\n")).Look(t.Context(), Query{Lines: 10})
		if !errors.Is(err, ErrNoGPUs) || version != want {
			t.Errorf("%q: HTTP/%d, %v", content, version, err)
		}
	}
}
