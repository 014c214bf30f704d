package exporter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// mostConnections limits the memory and the file descriptors of clients that never finish a request.
const mostConnections = 128

// Serving says where an exporter is served, and to whom.
type Serving struct {
	Address   string // "127.0.0.1:9841"; the configuration has checked it
	WebConfig string // a file with TLS and passwords; "" for neither
	Openly    bool   // serve even if other machines can read without a password or certificate
}

// Check returns an error if these settings do not allow serving. The error says which setting to change.
func (s *Serving) Check() error {
	if s.WebConfig == "" {
		return s.checkReaders(&webConfig{})
	}
	c, err := readWebConfig(s.WebConfig)
	if err != nil {
		return err
	}
	if c.TLS.on() {
		if _, err := c.TLS.settings(); err != nil {
			return fmt.Errorf("%s: %w", s.WebConfig, err)
		}
	}
	return s.checkReaders(c)
}

// checkReaders returns an error if other machines could read without a password or certificate.
func (s *Serving) checkReaders(c *webConfig) error {
	if s.Openly || s.local() || c.protects() {
		return nil
	}
	return fmt.Errorf("%s can be reached from other machines, and nothing asks who reads: "+
		"give --web.config.file with basic_auth_users, or with client_auth_type and client_ca_file, serve on 127.0.0.1, or add --serve-openly", s.Address)
}

// CheckFree returns an error if the address cannot be listened on now.
func (s *Serving) CheckFree() error {
	listener, err := net.Listen("tcp", s.Address)
	if err != nil {
		return err
	}
	return listener.Close()
}

// local reports whether only this machine reaches the address.
func (s *Serving) local() bool {
	host, _, _ := net.SplitHostPort(s.Address) // the address has been checked
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// Server serves an exporter.
type Server struct {
	*Exporter
	serving  Serving
	listener *connections
	log      *slog.Logger
}

// Listen opens the address. Serving.Check must have accepted s.
func Listen(e *Exporter, s Serving, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", s.Address)
	if err != nil {
		return nil, err
	}
	return &Server{e, s, limitConnections(listener, mostConnections), log}, nil
}

// Address returns the address on which the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler: s.Handler(), ConnState: s.listener.note, ErrorLog: slog.NewLogLogger(panicsOnly{s.log.Handler()}, slog.LevelError),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 15 * time.Second,
		MaxHeaderBytes: 16 << 10,
	}
	serve := func() error { return server.Serve(s.listener) }
	if path := s.serving.WebConfig; path != "" {
		c, err := readWebConfig(path)
		if err != nil {
			return fmt.Errorf("exporter: %w", err)
		}
		server.Handler = s.guarded(c, server.Handler)
		if c.TLS.on() {
			useTLS(server, path, c.HTTP.HTTP2)
			serve = func() error { return server.ServeTLS(s.listener, "", "") }
		}
	}
	if !s.serving.local() && s.serving.Openly {
		s.log.Warn("the exporter can be read from other machines without a password", "address", s.Address())
	}
	s.log.Info("exporting", "address", s.Address(), "web_config", s.serving.WebConfig)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = server.Close() // a client whose scrape is cut off at the daemon's end asks again
	})
	defer func() {
		if !stop() {
			<-ended
		}
	}()
	err := serve()
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("exporter: %w", err)
}

// useTLS makes the server read the certificates again for each connection.
func useTLS(server *http.Server, path string, http2 bool) {
	protocols := []string{"http/1.1"}
	if http2 {
		protocols = []string{"h2", "http/1.1"}
	} else {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	server.TLSConfig = &tls.Config{NextProtos: protocols, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c, err := readWebConfig(path)
		if err != nil {
			return nil, err
		}
		settings, err := c.TLS.settings()
		if err == nil {
			settings.NextProtos = protocols
		}
		return settings, err
	}}
}

// panicsOnly logs only panics. It drops messages that clients can cause at will, such as a failed TLS handshake.
type panicsOnly struct{ slog.Handler }

func (p panicsOnly) Handle(ctx context.Context, r slog.Record) error {
	if !strings.HasPrefix(r.Message, "http: panic serving") && !strings.HasPrefix(r.Message, "http2: panic serving") {
		return nil
	}
	r.Message, _, _ = strings.Cut(r.Message, "\n") // the stack follows
	return p.Handler.Handle(ctx, r)
}
