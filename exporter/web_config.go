package exporter

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/crypto/bcrypt"

	"vramscope/internal/promconfig"
)

// webConfig is a file for --web.config.file, in the form of Prometheus' own exporters.
// https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md
type webConfig struct {
	TLS  serverTLS `yaml:"tls_server_config"`
	HTTP struct {
		HTTP2   bool              `yaml:"http2"`
		Headers map[string]string `yaml:"headers"`
	} `yaml:"http_server_config"`
	RateLimit struct {
		Burst    int           `yaml:"burst"`
		Interval time.Duration `yaml:"interval"`
	} `yaml:"rate_limit"`
	Users map[string]string `yaml:"basic_auth_users"` // to the bcrypt hash of the password
}

type serverTLS struct {
	Cert              string                `yaml:"cert"`
	CertFile          string                `yaml:"cert_file"`
	Key               string                `yaml:"key"`
	KeyFile           string                `yaml:"key_file"`
	ClientAuth        clientAuth            `yaml:"client_auth_type"`
	ClientCA          string                `yaml:"client_ca"`
	ClientCAFile      string                `yaml:"client_ca_file"`
	ClientAllowedSANs []string              `yaml:"client_allowed_sans"`
	MinVersion        promconfig.TLSVersion `yaml:"min_version"`
	MaxVersion        promconfig.TLSVersion `yaml:"max_version"`
	CipherSuites      []cipher              `yaml:"cipher_suites"`
	Curves            []curve               `yaml:"curve_preferences"`
	PreferServer      bool                  `yaml:"prefer_server_cipher_suites"` // crypto/tls chooses by itself
}

type (
	clientAuth tls.ClientAuthType
	cipher     uint16
	curve      tls.CurveID
)

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *clientAuth) UnmarshalYAML(unmarshal func(any) error) (err error) {
	*c, err = promconfig.Named(unmarshal, "client_auth_type", map[string]clientAuth{
		"": clientAuth(tls.NoClientCert), "NoClientCert": clientAuth(tls.NoClientCert), "RequestClientCert": clientAuth(tls.RequestClientCert),
		"RequireAnyClientCert": clientAuth(tls.RequireAnyClientCert), "RequireClientCert": clientAuth(tls.RequireAnyClientCert),
		"VerifyClientCertIfGiven": clientAuth(tls.VerifyClientCertIfGiven), "RequireAndVerifyClientCert": clientAuth(tls.RequireAndVerifyClientCert),
	})
	return err
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *cipher) UnmarshalYAML(unmarshal func(any) error) (err error) {
	secure := map[string]cipher{}
	for _, suite := range tls.CipherSuites() {
		secure[suite.Name] = cipher(suite.ID)
	}
	*c, err = promconfig.Named(unmarshal, "cipher suite", secure)
	return err
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *curve) UnmarshalYAML(unmarshal func(any) error) (err error) {
	*c, err = promconfig.Named(unmarshal, "curve", map[string]curve{
		"CurveP256": curve(tls.CurveP256), "CurveP384": curve(tls.CurveP384), "CurveP521": curve(tls.CurveP521), "X25519": curve(tls.X25519),
	})
	return err
}

// headerValues are the headers that can be configured, and the values of which one is wanted.
var headerValues = map[string][]string{
	"Strict-Transport-Security": nil, "X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"deny", "sameorigin"},
	"X-XSS-Protection": nil, "Content-Security-Policy": nil,
}

// readWebConfig reads a file, and not those that it names.
func readWebConfig(path string) (*webConfig, error) {
	c := &webConfig{TLS: serverTLS{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS13}}
	c.HTTP.HTTP2 = true
	if err := promconfig.Read(path, c, nil, "docs/exporter.md has the keys that are"); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for name, value := range c.HTTP.Headers {
		if values, known := headerValues[name]; !known {
			return nil, fmt.Errorf("%s: the header %s cannot be configured", path, name)
		} else if len(values) > 0 && !slices.Contains(values, value) {
			return nil, fmt.Errorf("%s: the header %s is %q: want one of %q", path, name, value, values)
		}
	}
	promconfig.Resolve(path, &c.TLS.CertFile, &c.TLS.KeyFile, &c.TLS.ClientCAFile)
	return c, nil
}

// check is why nothing can be served so.
func (c *webConfig) check() error {
	for name, hash := range c.Users {
		if _, err := bcrypt.Cost([]byte(hash)); err != nil {
			return fmt.Errorf("the password of %s: %w", name, err)
		}
	}
	if !c.TLS.on() {
		return nil
	}
	_, err := c.TLS.settings()
	return err
}

// protects reports whether who reads must have a password or a certificate. Without a
// certificate authority of its own, one of the system's is enough: those sign for everybody.
func (c *webConfig) protects() bool {
	return len(c.Users) > 0 || tls.ClientAuthType(c.TLS.ClientAuth) == tls.RequireAndVerifyClientCert && c.TLS.ClientCA+c.TLS.ClientCAFile != ""
}

func (c *serverTLS) on() bool {
	return c.Cert+c.CertFile+c.Key+c.KeyFile+c.ClientCA+c.ClientCAFile != "" || c.ClientAuth != clientAuth(tls.NoClientCert)
}

// settings reads the certificates.
func (c *serverTLS) settings() (*tls.Config, error) {
	if c.Cert+c.CertFile == "" || c.Key+c.KeyFile == "" {
		return nil, errors.New("tls_server_config needs a certificate and its key: cert_file and key_file")
	}
	cert, err := fileOr(c.CertFile, c.Cert)
	if err != nil {
		return nil, err
	}
	key, err := fileOr(c.KeyFile, c.Key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("cert_file and key_file: %w", err)
	}
	settings := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: uint16(c.MinVersion), MaxVersion: uint16(c.MaxVersion), ClientAuth: tls.ClientAuthType(c.ClientAuth)} //nolint:gosec // as the file says
	for _, suite := range c.CipherSuites {
		settings.CipherSuites = append(settings.CipherSuites, uint16(suite))
	}
	for _, preferred := range c.Curves {
		settings.CurvePreferences = append(settings.CurvePreferences, tls.CurveID(preferred))
	}
	if c.ClientAllowedSANs != nil {
		settings.VerifyPeerCertificate = c.verifyNames
	}
	if c.ClientCA+c.ClientCAFile == "" {
		return settings, nil
	}
	if settings.ClientAuth == tls.NoClientCert {
		return nil, errors.New("client_ca_file is without a client_auth_type: RequireAndVerifyClientCert")
	}
	authorities, err := fileOr(c.ClientCAFile, c.ClientCA)
	if err != nil {
		return nil, err
	}
	settings.ClientCAs = x509.NewCertPool()
	if !settings.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("no certificate in %s", cmp.Or(c.ClientCAFile, "client_ca"))
	}
	return settings, nil
}

func fileOr(path, content string) ([]byte, error) {
	if path == "" {
		return []byte(content), nil
	}
	return os.ReadFile(path)
}

// verifyNames is why a client's certificate has no name that is allowed.
func (c *serverTLS) verifyNames(certificates [][]byte, _ [][]*x509.Certificate) error {
	if len(certificates) == 0 {
		return errors.New("the client has no certificate")
	}
	cert, err := x509.ParseCertificate(certificates[0]) // the client's comes first: RFC 5246, 7.4.2
	if err != nil {
		return err
	}
	names := slices.Concat(cert.DNSNames, cert.EmailAddresses)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	for _, uri := range cert.URIs {
		names = append(names, uri.String())
	}
	if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(c.ClientAllowedSANs, name) }) {
		return fmt.Errorf("the client's certificate is of %q, and none of these is in client_allowed_sans", names)
	}
	return nil
}
