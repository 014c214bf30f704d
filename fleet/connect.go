package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/config"

	"vramscope/internal/bounded"
	"vramscope/internal/text"
)

// Limits on an engine.
const (
	queryTimeout  = 10 * time.Second
	largestAnswer = 16 << 20 // a box of 16 GPUs and 64 processes on each is 3 MB
	atOnce        = 4        // queries at a time: an engine has 20 for everybody
)

// Engine says where an engine is and how it is reached.
type Engine struct {
	URL string
	// HTTPConfig is a file of Prometheus' own form (http_config): basic_auth,
	// authorization, tls_config, proxy_url. "": none.
	HTTPConfig string
}

// connect makes the client. It contacts no server.
func (e Engine) connect() (v1.API, string, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", fmt.Errorf("%q is no URL of a Prometheus: want http://HOST:9090", text.Clean(e.URL))
	}
	settings := &config.HTTPClientConfig{FollowRedirects: true, EnableHTTP2: true}
	if e.HTTPConfig != "" {
		if settings, _, err = config.LoadHTTPConfigFile(e.HTTPConfig); err != nil {
			return nil, "", fmt.Errorf("%s: %w", e.HTTPConfig, err)
		}
	}
	if settings.ProxyURL.URL == nil {
		settings.ProxyFromEnvironment = true
	}
	client, err := config.NewClientFromConfig(*settings, "vramscope")
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", e.HTTPConfig, err)
	}
	client.Transport = limited{client.Transport}
	connection, err := api.NewClient(api.Config{Address: e.URL, Client: client})
	if err != nil {
		return nil, "", err
	}
	return v1.NewAPI(connection), u.Redacted(), nil
}

// limited refuses answers that are too large to be kept: the client reads them whole.
type limited struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{bounded.NewReader(resp.Body, largestAnswer), resp.Body}
	}
	return resp, err
}

// explain is an error in words that say what to do next.
func explain(err error) error {
	var (
		answer      *v1.Error
		unknown     x509.UnknownAuthorityError
		verified    *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		lookup      *net.DNSError
		wrongDomain x509.HostnameError
	)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bounded.ErrTooLarge):
		return fmt.Errorf("the answer is larger than %d MiB: narrow the filter", largestAnswer>>20)
	case errors.As(err, &answer):
		return explainAnswer(answer, err)
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
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) { // TLS 1.3: its reason is lost
		return errors.New("it closed the connection: over TLS perhaps for the certificate of this client, tls_config.cert_file in --http-config")
	}
	var dial *net.OpError
	if errors.As(err, &dial) {
		return fmt.Errorf("not reached: %w", dial.Err)
	}
	var request *url.Error
	if errors.As(err, &request) { // the query says nothing to whoever reads this
		return request.Err
	}
	return err
}

// explainAnswer is an HTTP or API error.
func explainAnswer(answer *v1.Error, err error) error {
	message := text.Cut(text.Clean(answer.Msg), 200, "…")
	switch {
	case strings.HasSuffix(answer.Msg, ": 401"):
		return errors.New("401: it wants other credentials: basic_auth or authorization in --http-config")
	case strings.HasSuffix(answer.Msg, ": 403"):
		return errors.New("403: these credentials may not query it")
	case strings.HasSuffix(answer.Msg, ": 404"):
		return errors.New("404: no Prometheus API at this URL: with --web.external-url its path belongs to the URL")
	case strings.HasSuffix(answer.Msg, ": 407"):
		return errors.New("407: the proxy wants other credentials: http://USER:PASSWORD@PROXY in proxy_url, HTTPS_PROXY or HTTP_PROXY")
	case strings.HasSuffix(answer.Msg, ": 400") && strings.Contains(answer.Detail, "HTTPS"):
		return errors.New("TLS: it speaks TLS alone: https:// instead of http://?")
	case strings.HasSuffix(answer.Msg, ": 503"):
		return errors.New("503: it is not ready: starting, or overloaded")
	case answer.Type == v1.ErrTimeout, answer.Type == v1.ErrCanceled:
		return fmt.Errorf("the query took too long for it: %s", message)
	case answer.Type == v1.ErrBadResponse:
		return errors.New("what answers there is no Prometheus: is the URL right?")
	}
	return fmt.Errorf("%s: %w", message, err)
}
