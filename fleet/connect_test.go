package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clientCertificate is a new one, in two files of a folder.
func clientCertificate(t *testing.T, folder, name string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	encoded, err := x509.CreateCertificate(rand.Reader, &of, &of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(folder, name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encoded}), 0o600),
		os.WriteFile(filepath.Join(folder, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
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
