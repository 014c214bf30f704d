package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"vramscope/internal/promconfig"
)

// httpConfig is a file for --http-config, in Prometheus' own form. The files that it names, except
// for ca_file, are read again for each query or connection.
// https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config
type httpConfig struct {
	BasicAuth            *basicAuth            `yaml:"basic_auth"`
	Authorization        *authorization        `yaml:"authorization"`
	TLS                  tlsConfig             `yaml:"tls_config"`
	ProxyURL             string                `yaml:"proxy_url"`
	ProxyFromEnvironment bool                  `yaml:"proxy_from_environment"`
	FollowRedirects      bool                  `yaml:"follow_redirects"`
	HTTP2                bool                  `yaml:"enable_http2"`
	Headers              map[string]httpHeader `yaml:"http_headers"`
}

type basicAuth struct {
	Username     string `yaml:"username"`
	UsernameFile string `yaml:"username_file"`
	Password     string `yaml:"password"`
	PasswordFile string `yaml:"password_file"`
}

type authorization struct {
	Type            string `yaml:"type"`
	Credentials     string `yaml:"credentials"`
	CredentialsFile string `yaml:"credentials_file"`
}

type tlsConfig struct {
	CA                 string `yaml:"ca"`
	CAFile             string `yaml:"ca_file"`
	Cert               string `yaml:"cert"`
	CertFile           string `yaml:"cert_file"`
	Key                string `yaml:"key"`
	KeyFile            string `yaml:"key_file"`
	ServerName         string `yaml:"server_name"`
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify"`
	MinVersion         string `yaml:"min_version"`
	MaxVersion         string `yaml:"max_version"`
}

type httpHeader struct {
	Values  []string `yaml:"values"`
	Secrets []string `yaml:"secrets"`
	Files   []string `yaml:"files"`
}

// unsupported says what to use instead of keys that only Prometheus has.
var unsupported = map[string]string{
	"oauth2":               "authorization with a credentials_file takes a token that another program renews",
	"bearer_token":         "use authorization with credentials",
	"bearer_token_file":    "use authorization with credentials_file",
	"no_proxy":             "leave proxy_url out for an engine that needs no proxy",
	"proxy_connect_header": "write the proxy's credentials into proxy_url: http://USER:PASSWORD@PROXY",
}

// readHTTPConfig reads a file, or returns the defaults for "".
func readHTTPConfig(path string) (*httpConfig, error) {
	c := &httpConfig{ProxyFromEnvironment: true, FollowRedirects: true, HTTP2: true}
	if path == "" {
		return c, nil
	}
	if err := promconfig.Read(path, c, unsupported, "docs/fleet.md has the keys that are"); err != nil {
		return nil, err
	}
	promconfig.Resolve(path, &c.TLS.CAFile, &c.TLS.CertFile, &c.TLS.KeyFile)
	if c.BasicAuth != nil {
		promconfig.Resolve(path, &c.BasicAuth.UsernameFile, &c.BasicAuth.PasswordFile)
	}
	if c.Authorization != nil {
		promconfig.Resolve(path, &c.Authorization.CredentialsFile)
	}
	for _, h := range c.Headers {
		for i := range h.Files {
			promconfig.Resolve(path, &h.Files[i])
		}
	}
	return c, c.check()
}

// check returns an error if keys contradict each other.
func (c *httpConfig) check() error {
	basic, bearer := cmp.Or(c.BasicAuth, &basicAuth{}), cmp.Or(c.Authorization, &authorization{})
	for _, both := range [][3]string{
		{"basic_auth.username", basic.Username, basic.UsernameFile}, {"basic_auth.password", basic.Password, basic.PasswordFile},
		{"authorization.credentials", bearer.Credentials, bearer.CredentialsFile},
		{"tls_config.ca", c.TLS.CA, c.TLS.CAFile}, {"tls_config.cert", c.TLS.Cert, c.TLS.CertFile}, {"tls_config.key", c.TLS.Key, c.TLS.KeyFile},
	} {
		if name := both[0]; both[1] != "" && both[2] != "" {
			return fmt.Errorf("%[1]s and %[1]s_file exclude each other", name)
		}
	}
	switch {
	case c.BasicAuth != nil && c.Authorization != nil:
		return errors.New("basic_auth and authorization exclude each other")
	case strings.EqualFold(strings.TrimSpace(bearer.Type), "basic"):
		return errors.New("authorization.type is basic: use basic_auth")
	case (c.TLS.Cert+c.TLS.CertFile == "") != (c.TLS.Key+c.TLS.KeyFile == ""):
		return errors.New("tls_config needs both a certificate and its key: cert_file and key_file")
	case c.TLS.MaxVersion != "" && c.TLS.MaxVersion < c.TLS.MinVersion:
		return errors.New("tls_config.max_version is below min_version")
	}
	return nil
}

// client returns an HTTP client. It contacts no server.
func (c *httpConfig) client() (*http.Client, error) {
	settings, err := c.TLS.settings()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: settings, MaxIdleConnsPerHost: maxQueries, IdleConnTimeout: 5 * time.Minute, ForceAttemptHTTP2: c.HTTP2}
	if c.ProxyFromEnvironment {
		transport.Proxy = http.ProxyFromEnvironment
	}
	if c.ProxyURL != "" {
		proxy, err := url.Parse(c.ProxyURL)
		if err != nil {
			return nil, errors.New("proxy_url is no URL") // url.Parse's error may show a password
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	return &http.Client{Transport: transport, CheckRedirect: c.redirect}, nil
}

// redirect follows a redirect. It drops the file's headers if the redirect is to another host; net/http
// drops only Authorization.
func (c *httpConfig) redirect(next *http.Request, before []*http.Request) error {
	switch {
	case !c.FollowRedirects:
		return http.ErrUseLastResponse
	case len(before) >= 10: // the limit of net/http
		return errors.New("stopped after 10 redirects")
	case next.URL.Hostname() != before[0].URL.Hostname():
		for name := range c.Headers {
			next.Header.Del(name)
		}
	}
	return nil
}

func (c *tlsConfig) settings() (*tls.Config, error) {
	v := &promconfig.Values{}
	authority := v.Text(c.CA, c.CAFile)
	settings := &tls.Config{ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify, MinVersion: v.TLSVersion(c.MinVersion), MaxVersion: v.TLSVersion(c.MaxVersion)} //nolint:gosec // as the file says
	if authority != "" {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM([]byte(authority)) {
			return nil, fmt.Errorf("no certificate in %s", cmp.Or(c.CAFile, "tls_config.ca"))
		}
	}
	if c.Cert+c.CertFile != "" && v.Err == nil {
		settings.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.certificate() }
		_, v.Err = c.certificate()
	}
	return settings, v.Err
}

func (c *tlsConfig) certificate() (*tls.Certificate, error) {
	v := &promconfig.Values{}
	cert, key := v.Text(c.Cert, c.CertFile), v.Text(c.Key, c.KeyFile)
	if v.Err != nil {
		return nil, v.Err
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	return &pair, err
}

// request returns a request with the headers and the credentials of the file.
func (c *httpConfig) request(ctx context.Context, method, url, form string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	v := &promconfig.Values{}
	for name, h := range c.Headers {
		for _, value := range slices.Concat(h.Values, h.Secrets) {
			r.Header.Add(name, value)
		}
		for _, file := range h.Files {
			r.Header.Add(name, v.Text("", file))
		}
	}
	r.Header.Set("User-Agent", "vramscope")
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if basic := c.BasicAuth; basic != nil {
		r.SetBasicAuth(v.Text(basic.Username, basic.UsernameFile), v.Text(basic.Password, basic.PasswordFile))
	}
	if bearer := c.Authorization; bearer != nil {
		r.Header.Set("Authorization", cmp.Or(strings.TrimSpace(bearer.Type), "Bearer")+" "+v.Text(bearer.Credentials, bearer.CredentialsFile))
	}
	return r, v.Err
}
