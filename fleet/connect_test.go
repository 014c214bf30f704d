package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// clientCertificate is a new one, in two files of a folder.
func clientCertificate(t *testing.T, folder, name string) *x509.Certificate {
	t.Helper()
	path := filepath.Join(folder, name)
	return needs.Certificate(t, path+".pem", path+".key", x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// httpConfig is a file for --http-config.
func httpConfig(t *testing.T, folder, text string) string {
	t.Helper()
	path := filepath.Join(folder, "client.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestClientCertificates: an engine that asks for a certificate answers who has the right one.
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
		_, err := engineAt(t, s.URL, httpConfig(t, folder, text)).Look(t.Context(), Query{Lines: 10})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("certificate %q: %v", c.certificate, err)
		}
	}
}

// TestProxy: an engine is asked through the proxy of --http-config, whose name of it need
// not be known here.
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
		_, err := engineAt(t, url, httpConfig(t, t.TempDir(), "proxy_url: "+address+"\n")).Look(t.Context(), Query{Lines: 10})
		if err == nil || !strings.Contains(err.Error(), want) || asked != url {
			t.Errorf("%s: asked for %q, %v", address, asked, err)
		}
	}
}
