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
	"os"
	"slices"
	"strings"
	"time"

	"vramscope/internal/promconfig"
)

// httpConfig is a file for --http-config, in Prometheus' own form. The files that it names
// are read anew for each query or connection, but for the authority's.
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
	CA                 string                `yaml:"ca"`
	CAFile             string                `yaml:"ca_file"`
	Cert               string                `yaml:"cert"`
	CertFile           string                `yaml:"cert_file"`
	Key                string                `yaml:"key"`
	KeyFile            string                `yaml:"key_file"`
	ServerName         string                `yaml:"server_name"`
	InsecureSkipVerify bool                  `yaml:"insecure_skip_verify"`
	MinVersion         promconfig.TLSVersion `yaml:"min_version"`
	MaxVersion         promconfig.TLSVersion `yaml:"max_version"`
}

type httpHeader struct {
	Values  []string `yaml:"values"`
	Secrets []string `yaml:"secrets"`
	Files   []string `yaml:"files"`
}

// unsupported says what to do in place of keys that Prometheus has.
var unsupported = map[string]string{
	"oauth2":               "authorization with a credentials_file takes a token that another program renews",
	"bearer_token":         "use authorization with credentials",
	"bearer_token_file":    "use authorization with credentials_file",
	"no_proxy":             "leave proxy_url out for an engine that needs no proxy",
	"proxy_connect_header": "write the proxy's credentials into proxy_url: http://USER:PASSWORD@PROXY",
}

// readHTTPConfig reads a file, or the defaults where there is none.
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

// check is why keys contradict each other.
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
	case c.TLS.MaxVersion != 0 && c.TLS.MaxVersion < c.TLS.MinVersion:
		return errors.New("tls_config.max_version is below min_version")
	}
	return nil
}

// either is a text, or what a file has.
func either(text, file string) (string, error) {
	if file == "" {
		return text, nil
	}
	content, err := os.ReadFile(file)
	return strings.TrimSpace(string(content)), err
}

// client makes a client; it contacts no server.
func (c *httpConfig) client() (*http.Client, error) {
	settings, err := c.TLS.settings()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: settings, MaxIdleConnsPerHost: atOnce, IdleConnTimeout: 5 * time.Minute, ForceAttemptHTTP2: c.HTTP2}
	if c.ProxyFromEnvironment {
		transport.Proxy = http.ProxyFromEnvironment
	}
	if c.ProxyURL != "" {
		proxy, err := url.Parse(c.ProxyURL)
		if err != nil {
			return nil, errors.New("proxy_url is no URL") // it may have a password
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	client := &http.Client{Transport: transport}
	if !c.FollowRedirects {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return client, nil
}

func (c *tlsConfig) settings() (*tls.Config, error) {
	settings := &tls.Config{ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify, MinVersion: uint16(c.MinVersion), MaxVersion: uint16(c.MaxVersion)} //nolint:gosec // as the file says
	authority, err := either(c.CA, c.CAFile)
	if err != nil {
		return nil, err
	}
	if authority != "" {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM([]byte(authority)) {
			return nil, fmt.Errorf("no certificate in %s", cmp.Or(c.CAFile, "tls_config.ca"))
		}
	}
	if c.Cert+c.CertFile == "" {
		return settings, nil
	}
	settings.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.certificate() }
	_, err = c.certificate()
	return settings, err
}

func (c *tlsConfig) certificate() (*tls.Certificate, error) {
	cert, err := either(c.Cert, c.CertFile)
	if err != nil {
		return nil, err
	}
	key, err := either(c.Key, c.KeyFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	return &pair, err
}

// request makes a request with the headers and the credentials of the file.
func (c *httpConfig) request(ctx context.Context, method, url, form string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	for name, h := range c.Headers {
		for _, file := range h.Files {
			content, err := either("", file)
			if err != nil {
				return nil, err
			}
			r.Header.Add(name, content)
		}
		for _, value := range slices.Concat(h.Values, h.Secrets) {
			r.Header.Add(name, value)
		}
	}
	r.Header.Set("User-Agent", "vramscope")
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	switch {
	case c.BasicAuth != nil:
		name, err := either(c.BasicAuth.Username, c.BasicAuth.UsernameFile)
		if err != nil {
			return nil, err
		}
		password, err := either(c.BasicAuth.Password, c.BasicAuth.PasswordFile)
		if err != nil {
			return nil, err
		}
		r.SetBasicAuth(name, password)
	case c.Authorization != nil:
		credentials, err := either(c.Authorization.Credentials, c.Authorization.CredentialsFile)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", cmp.Or(strings.TrimSpace(c.Authorization.Type), "Bearer")+" "+credentials)
	}
	return r, nil
}
