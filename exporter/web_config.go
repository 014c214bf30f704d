package exporter

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
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
	Users map[string]string `yaml:"basic_auth_users"` // from the name to the bcrypt hash of the password
}

type serverTLS struct {
	Cert              string   `yaml:"cert"`
	CertFile          string   `yaml:"cert_file"`
	Key               string   `yaml:"key"`
	KeyFile           string   `yaml:"key_file"`
	ClientAuth        string   `yaml:"client_auth_type"`
	ClientCA          string   `yaml:"client_ca"`
	ClientCAFile      string   `yaml:"client_ca_file"`
	ClientAllowedSANs []string `yaml:"client_allowed_sans"`
	MinVersion        string   `yaml:"min_version"`
	MaxVersion        string   `yaml:"max_version"`
	CipherSuites      []string `yaml:"cipher_suites"`
	Curves            []string `yaml:"curve_preferences"`
	PreferServer      bool     `yaml:"prefer_server_cipher_suites"` // crypto/tls chooses by itself
}

const verifiedClients = "RequireAndVerifyClientCert"

// clientAuths are the values of client_auth_type.
var clientAuths = map[string]tls.ClientAuthType{
	"NoClientCert": tls.NoClientCert, "RequestClientCert": tls.RequestClientCert, "RequireAnyClientCert": tls.RequireAnyClientCert,
	"RequireClientCert": tls.RequireAnyClientCert, "VerifyClientCertIfGiven": tls.VerifyClientCertIfGiven, verifiedClients: tls.RequireAndVerifyClientCert,
}

var curves = map[string]tls.CurveID{"CurveP256": tls.CurveP256, "CurveP384": tls.CurveP384, "CurveP521": tls.CurveP521, "X25519": tls.X25519}

// headerValues are the headers that can be configured, with their possible values; nil means any.
var headerValues = map[string][]string{
	"Strict-Transport-Security": nil, "X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"deny", "sameorigin"},
	"X-XSS-Protection": nil, "Content-Security-Policy": nil,
}

// maxCost is the highest bcrypt cost of a password. A comparison at this cost takes some seconds, for
// which other new passwords wait; each further cost doubles the time.
const maxCost = 16

// readWebConfig reads and checks the file, but not the files that it names.
func readWebConfig(path string) (*webConfig, error) {
	c := &webConfig{TLS: serverTLS{MinVersion: "TLS12", MaxVersion: "TLS13"}}
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
	for name, hash := range c.Users {
		cost, err := bcrypt.Cost([]byte(hash))
		if err == nil && cost > maxCost {
			err = fmt.Errorf("its bcrypt cost is %d: want at most %d", cost, maxCost)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the password of %s: %w", path, name, err)
		}
	}
	promconfig.Resolve(path, &c.TLS.CertFile, &c.TLS.KeyFile, &c.TLS.ClientCAFile)
	return c, nil
}

// protects reports whether a reader must have a password or a certificate. A certificate protects
// only with a configured certificate authority: the system's authorities sign for everybody.
func (c *webConfig) protects() bool {
	return len(c.Users) > 0 || c.TLS.ClientAuth == verifiedClients && c.TLS.ClientCA+c.TLS.ClientCAFile != ""
}

func (c *serverTLS) on() bool {
	return c.Cert+c.CertFile+c.Key+c.KeyFile+c.ClientCA+c.ClientCAFile+c.ClientAuth != "" || c.ClientAllowedSANs != nil
}

// settings returns crypto/tls's form of the configuration. It reads the certificate files.
func (c *serverTLS) settings() (*tls.Config, error) {
	if c.Cert+c.CertFile == "" || c.Key+c.KeyFile == "" {
		return nil, errors.New("tls_server_config needs a certificate and its key: cert_file and key_file")
	}
	v, suites := &promconfig.Values{}, map[string]uint16{}
	for _, suite := range tls.CipherSuites() {
		suites[suite.Name] = suite.ID
	}
	cert, key, authorities := v.Text(c.Cert, c.CertFile), v.Text(c.Key, c.KeyFile), v.Text(c.ClientCA, c.ClientCAFile)
	// A resumed session would skip verifyNames, and be accepted by the rules of an earlier file.
	settings := &tls.Config{SessionTicketsDisabled: true, MinVersion: v.TLSVersion(c.MinVersion), MaxVersion: v.TLSVersion(c.MaxVersion), ClientAuth: promconfig.Pick(v, "client_auth_type", c.ClientAuth, clientAuths)} //nolint:gosec // as the file says
	for _, name := range c.CipherSuites {
		settings.CipherSuites = append(settings.CipherSuites, promconfig.Pick(v, "cipher suite", name, suites))
	}
	for _, name := range c.Curves {
		settings.CurvePreferences = append(settings.CurvePreferences, promconfig.Pick(v, "curve", name, curves))
	}
	if v.Err != nil {
		return nil, v.Err
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		return nil, fmt.Errorf("cert_file and key_file: %w", err)
	}
	settings.Certificates = []tls.Certificate{pair}
	if c.ClientAllowedSANs != nil {
		if settings.ClientAuth == tls.NoClientCert {
			return nil, errors.New("client_allowed_sans is without a client_auth_type: " + verifiedClients)
		}
		settings.VerifyPeerCertificate = c.verifyNames
	}
	if c.ClientCA+c.ClientCAFile == "" {
		return settings, nil
	}
	settings.ClientCAs = x509.NewCertPool()
	switch {
	case settings.ClientAuth == tls.NoClientCert:
		return nil, errors.New("client_ca_file is without a client_auth_type: " + verifiedClients)
	case !settings.ClientCAs.AppendCertsFromPEM([]byte(authorities)):
		return nil, fmt.Errorf("no certificate in %s", cmp.Or(c.ClientCAFile, "client_ca"))
	}
	return settings, nil
}

// verifyNames returns an error unless a client's certificate has an allowed name.
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
