package exporter

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"vramscope/internal/needs"
)

// TestWebConfigurationsThatAreRefused: the error names the mistake before anything is served.
func TestWebConfigurationsThatAreRefused(t *testing.T) {
	for content, want := range map[string]string{
		"basic_auth_user: {}\n":                                                                 "line 1: basic_auth_user is not supported: docs/exporter.md has",
		"tls_server_config:\n  cert_fil: a\n  ca: b\n":                                          "line 2: cert_fil is not supported: docs/exporter.md has the keys that are; line 3: ca is",
		"basic_auth_users: {a: plain}\n":                                                        "the password of a: ",
		"tls_server_config: {cert_file: cert.pem}\n":                                            "needs a certificate and its key",
		"tls_server_config: {client_auth_type: RequireAnyClientCert}\n":                         "needs a certificate and its key",
		"tls_server_config: {cert_file: cert.pem, key_file: none.pem}\n":                        "none.pem: no such file",
		"tls_server_config: {cert_file: cert.pem, key_file: cert.pem}\n":                        "cert_file and key_file: ",
		withTLS + "  client_ca_file: cert.pem\n":                                                "client_ca_file is without a client_auth_type",
		withTLS + "  client_auth_type: VerifyClientCertIfGiven\n  client_ca: a\n":               "no certificate in client_ca",
		withTLS + "  client_auth_type: Sometimes\n":                                             "unknown client_auth_type: Sometimes",
		withTLS + "  min_version: SSL3\n":                                                       "unknown TLS version: SSL3",
		withTLS + "  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]\n":                               "unknown cipher suite: TLS_RSA_WITH_RC4_128_SHA",
		withTLS + "  curve_preferences: [P256]\n":                                               "unknown curve: P256",
		"http_server_config: {headers: {X-Other: a}}\n":                                         "the header X-Other cannot be configured",
		"http_server_config: {headers: {X-Frame-Options: allow}}\n":                             `the header X-Frame-Options is "allow": want one of ["deny" "sameorigin"]`,
		"basic_auth_users: {a: $2y$31$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}\n": "the password of a: its bcrypt cost is 31: want at most 16",
		withTLS + "  client_allowed_sans: [prometheus]\n":                                       "client_allowed_sans is without a client_auth_type",
		"tls_server_config: {client_allowed_sans: [prometheus]}\n":                              "needs a certificate and its key",
		"rate_limit: {interval: often}\n":                                                       "often",
	} {
		path := configFile(t, content)
		if err := (&Serving{Address: "127.0.0.1:9841", WebConfig: path}).Check(); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
	const everything = withTLS + `  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: cert.pem
  client_allowed_sans: [prometheus]
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: true
  curve_preferences: [CurveP256, X25519]
http_server_config:
  http2: false
  headers: {Strict-Transport-Security: max-age=1, X-Frame-Options: deny, X-Content-Type-Options: nosniff, X-XSS-Protection: "1", Content-Security-Policy: none}
rate_limit: {interval: 1s, burst: 5}
`
	if err := (&Serving{Address: "127.0.0.1:9841", WebConfig: configFile(t, everything)}).Check(); err != nil {
		t.Error(err)
	}
}

// client returns a client that trusts any server.
func client(t *testing.T, settings *tls.Config) *http.Client {
	settings.InsecureSkipVerify = true
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: settings, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// TestClientCertificates: a client whose certificate the authority has signed may read only if the
// certificate's name is allowed. The file is read again for each connection.
func TestClientCertificates(t *testing.T) {
	const wanted = withTLS + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: client.pem\n"
	path := configFile(t, wanted)
	folder := filepath.Dir(path)
	write := func(content string) { // atomically, so that the server never reads an empty file
		t.Helper()
		if err := errors.Join(os.WriteFile(path+".new", []byte(content), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"client", "stranger"} {
		needs.Certificate(t, filepath.Join(folder, name+".pem"), filepath.Join(folder, name+".key"),
			x509.Certificate{DNSNames: []string{"prometheus"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 7)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	}
	address, _ := serving(t, path)
	reads := func(name string) (bool, string) {
		t.Helper()
		settings := &tls.Config{}
		if name != "" {
			pair, err := tls.LoadX509KeyPair(filepath.Join(folder, name+".pem"), filepath.Join(folder, name+".key"))
			if err != nil {
				t.Fatal(err)
			}
			settings.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		resp, err := client(t, settings).Get("https://" + address + "/metrics")
		if err != nil {
			return false, err.Error()
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK, resp.Status
	}
	for _, c := range []struct {
		config, name string
		want         bool
	}{
		{wanted, "client", true},
		{wanted, "stranger", false},
		{wanted, "", false},
		{wanted + "  client_allowed_sans: [prometheus]\n", "client", true},
		{wanted + "  client_allowed_sans: [10.0.0.7]\n", "client", true},
		{wanted + "  client_allowed_sans: [grafana]\n", "client", false},
		{wanted + "  client_allowed_sans: []\n", "client", false},
		{withTLS + "  client_auth_type: RequireAnyClientCert\n", "stranger", true},
		{withTLS + "  client_auth_type: RequireAnyClientCert\n", "", false},
		{withTLS + "  client_auth_type: RequestClientCert\n  client_allowed_sans: [prometheus]\n", "", false},
		{withTLS + "  client_auth_type: RequestClientCert\n", "", true},
		{"", "client", false}, // the server still speaks TLS, and has no certificate
	} {
		write(c.config)
		if got, how := reads(c.name); got != c.want {
			t.Errorf("%q with %q: reads: %v: %s", c.config, c.name, got, how)
		}
	}
}

// TestResumedSessionsAreChecked: a client whose certificate is no longer allowed cannot resume an
// earlier session.
func TestResumedSessionsAreChecked(t *testing.T) {
	const wanted = withTLS + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: client.pem\n"
	path := configFile(t, wanted+"  client_allowed_sans: [prometheus]\n")
	name := filepath.Join(filepath.Dir(path), "client")
	needs.Certificate(t, name+".pem", name+".key", x509.Certificate{DNSNames: []string{"prometheus"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	pair, err := tls.LoadX509KeyPair(name+".pem", name+".key")
	if err != nil {
		t.Fatal(err)
	}
	address, _ := serving(t, path)
	c := client(t, &tls.Config{Certificates: []tls.Certificate{pair}, ClientSessionCache: tls.NewLRUClientSessionCache(1), MinVersion: tls.VersionTLS12})
	read := func() error {
		resp, err := c.Get("https://" + address + "/metrics")
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(wanted+"  client_allowed_sans: [grafana]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if read() == nil {
		t.Error("a client that is not allowed any more reads")
	}
}

// TestServerTLS: the file can lower the TLS version, and turn HTTP/2 off.
func TestServerTLS(t *testing.T) {
	for _, c := range []struct {
		config         string
		version, proto int
	}{
		{withTLS, tls.VersionTLS13, 2},
		{withTLS + "  max_version: TLS12\n", tls.VersionTLS12, 2},
		{withTLS + "http_server_config: {http2: false}\n", tls.VersionTLS13, 1},
	} {
		address, _ := serving(t, configFile(t, c.config))
		resp, err := client(t, &tls.Config{}).Get("https://" + address + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if int(resp.TLS.Version) != c.version || resp.ProtoMajor != c.proto {
			t.Errorf("%q: TLS %x, HTTP/%d", c.config, resp.TLS.Version, resp.ProtoMajor)
		}
		if conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
			_ = conn.Close()
			t.Errorf("%q: TLS 1.1 is taken", c.config)
		}
	}
}

// TestHeadersAndRateLimit: an answer to a client without a password has the headers, too.
func TestHeadersAndRateLimit(t *testing.T) {
	address, _ := serving(t, configFile(t, withPassword(t)+"http_server_config: {headers: {X-Frame-Options: deny}}\nrate_limit: {interval: 1h, burst: 2}\n"))
	for i, want := range []int{http.StatusUnauthorized, http.StatusUnauthorized, http.StatusTooManyRequests} {
		resp, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if limited := want == http.StatusTooManyRequests; resp.StatusCode != want || (resp.Header.Get("X-Frame-Options") == "deny") == limited || (resp.Header.Get("WWW-Authenticate") == "Basic") == limited {
			t.Errorf("request %d: %s, %v", i, resp.Status, resp.Header)
		}
	}
}

// TestNothingIsServedPlainWhereTLSIsWanted: if the file gets TLS only after the server has started, the
// server does not accept a password in plain text.
func TestNothingIsServedPlainWhereTLSIsWanted(t *testing.T) {
	path := configFile(t, "")
	address, _ := serving(t, path)
	get := func(want int) {
		t.Helper()
		resp, err := http.Get("http://" + address + "/healthz") //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != want || resp.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s, want %d", resp.Status, want)
		}
	}
	get(http.StatusOK)
	if err := os.WriteFile(path, []byte("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"+withPassword(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	get(http.StatusServiceUnavailable)
}

// TestPasswordsThatAreChanged: a password is accepted only while the file has it.
func TestPasswordsThatAreChanged(t *testing.T) {
	path := configFile(t, withPassword(t))
	address, _ := serving(t, path)
	status := func(name, password string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, "http://"+address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(name, password)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for range 2 { // the second time, the password is known
		if code := status("prometheus", "right"); code != http.StatusOK {
			t.Errorf("the right one: %d", code)
		}
	}
	for _, wrong := range [][2]string{{"prometheus", "wrong"}, {"", "right"}, {"grafana", "right"}, {"grafana", "fakepassword"}} {
		if code := status(wrong[0], wrong[1]); code != http.StatusUnauthorized {
			t.Errorf("%q: %d", wrong, code)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Replace(withPassword(t), "prometheus:", "grafana:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if before, now := status("prometheus", "right"), status("grafana", "right"); before != http.StatusUnauthorized || now != http.StatusOK {
		t.Errorf("after the change: %d, %d", before, now)
	}
}

// TestUnknownNamesTakeAsLong: an unknown name costs as much as the most expensive password, and is refused
// even with the password of the hash that stands in for it.
func TestUnknownNamesTakeAsLong(t *testing.T) {
	users := map[string]string{}
	for _, cost := range []int{5, 7, 6} {
		hash, err := bcrypt.GenerateFromPassword([]byte("right"), cost)
		if err != nil {
			t.Fatal(err)
		}
		users[strconv.Itoa(cost)] = string(hash)
	}
	if cost, err := bcrypt.Cost([]byte(unknownUser(users))); err != nil || cost != 7 {
		t.Errorf("a name that is not there has the cost %d, %v", cost, err)
	}
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	for _, password := range []string{"right", "fakepassword"} {
		r.SetBasicAuth("grafana", password)
		if err := newLogins().check(r, users); !errors.Is(err, errWrong) {
			t.Errorf("%q: %v", password, err)
		}
	}
}
