package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"vramscope/internal/text"
)

// explain words an error for the user, with a remedy if one is known.
func explain(err error) error {
	var (
		refused     *refusal
		unknown     x509.UnknownAuthorityError
		verified    *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		lookup      *net.DNSError
		wrongDomain x509.HostnameError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused.explain()
	case errors.As(err, &wrongDomain):
		return fmt.Errorf("TLS: the certificate is of another host: tls_config.server_name in --http-config: %w", wrongDomain)
	case errors.As(err, &unknown), errors.As(err, &verified):
		return errors.New("TLS: its certificate is not trusted: tls_config.ca_file in --http-config")
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("TLS: it does not speak TLS: http:// instead of https://?")
	case strings.Contains(err.Error(), "remote error: tls:"):
		return errors.New("TLS: it refuses this client: tls_config.cert_file in --http-config")
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer in %s", queryTimeout)
	case errors.As(err, &lookup):
		return fmt.Errorf("no such host: %s", text.Clean(lookup.Name))
	}
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) { // in TLS 1.3 the server's reason is lost
		return errors.New("it closed the connection: over TLS perhaps for the certificate of this client, tls_config.cert_file in --http-config")
	}
	var dial *net.OpError
	if errors.As(err, &dial) {
		return fmt.Errorf("not reached: %w", dial.Err)
	}
	var request *url.Error
	if errors.As(err, &request) { // the query means nothing to a reader
		return request.Err
	}
	return err
}

func (r *refusal) explain() error {
	switch r.code {
	case http.StatusUnauthorized:
		return errors.New("401: it wants other credentials: basic_auth or authorization in --http-config")
	case http.StatusForbidden:
		return errors.New("403: these credentials may not query it")
	case http.StatusNotFound:
		return errors.New("404: no Prometheus API at this URL: with --web.external-url its path belongs to the URL")
	case http.StatusProxyAuthRequired:
		return errors.New("407: the proxy wants other credentials: http://USER:PASSWORD@PROXY in proxy_url, HTTPS_PROXY or HTTP_PROXY")
	}
	message := text.Cut(text.Clean(r.text), 200, "…")
	switch {
	case r.kind == "timeout", r.kind == "canceled":
		return fmt.Errorf("the query took too long for it: %s", message)
	case r.kind != "":
		return fmt.Errorf("%s: %s", text.Clean(r.kind), message)
	case r.code == http.StatusBadRequest && strings.Contains(r.text, "HTTPS"):
		return errors.New("TLS: it speaks TLS alone: https:// instead of http://?")
	case r.code == http.StatusServiceUnavailable:
		return errors.New("503: it is not ready: starting, or overloaded")
	case r.code/100 == 2:
		return errors.New("what answers there is no Prometheus: is the URL right?")
	}
	return r
}
