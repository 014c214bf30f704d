package exporter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v2"
)

// mostConnections bounds what clients that never finish a request take of memory and
// file descriptors.
const mostConnections = 128

// Serving is where an exporter is served, and to whom.
type Serving struct {
	Address string // "127.0.0.1:9841"; the configuration has checked it
	// WebConfig is a file of exporter-toolkit, with TLS and passwords; "" for neither.
	// https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md
	WebConfig string
	Openly    bool // also where other machines can read it and nothing asks who they are
}

// Check is why nothing can be served so; what it returns says which setting to change.
func (s *Serving) Check() error {
	if s.WebConfig != "" {
		if err := web.Validate(s.WebConfig); err != nil {
			if failed, is := errors.AsType[*fs.PathError](err); is && failed.Path == s.WebConfig {
				err = failed.Err
			}
			return fmt.Errorf("%s: %w", s.WebConfig, err)
		}
	}
	return s.checkReaders()
}

// checkReaders is why other machines must not read what is served.
func (s *Serving) checkReaders() error {
	if s.Openly || s.local() {
		return nil
	}
	protected, err := s.protected()
	if err == nil && !protected {
		err = fmt.Errorf("%s can be reached from other machines, and nothing asks who reads: "+
			"give --web.config.file with basic_auth_users, or with client_auth_type and client_ca_file, serve on 127.0.0.1, or add --serve-openly", s.Address)
	}
	return err
}

// CheckFree is why the address cannot be listened on now.
func (s *Serving) CheckFree() error {
	listener, err := net.Listen("tcp", s.Address)
	if err != nil {
		return err
	}
	return listener.Close()
}

// local reports whether only this machine reaches the address.
func (s *Serving) local() bool {
	host, _, _ := net.SplitHostPort(s.Address) // it has been checked
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// protected reports whether who reads must have a password or a certificate. Without a
// certificate authority of its own, one of the system's is enough: those sign for everybody.
func (s *Serving) protected() (bool, error) {
	if s.WebConfig == "" {
		return false, nil
	}
	content, err := os.ReadFile(s.WebConfig)
	if err != nil {
		return false, err
	}
	var c web.Config
	if err := yaml.UnmarshalStrict(content, &c); err != nil {
		return false, fmt.Errorf("%s: %w", s.WebConfig, err)
	}
	of := &c.TLSConfig
	return len(c.Users) > 0 || of.ClientAuth == "RequireAndVerifyClientCert" && (of.ClientCAs != "" || of.ClientCAsText != ""), nil
}

// Server serves an exporter.
type Server struct {
	*Exporter
	serving  Serving
	listener *connections
	log      *slog.Logger
}

// Listen opens the address, which Serving.Check has passed.
func Listen(e *Exporter, s Serving, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", s.Address)
	if err != nil {
		return nil, err
	}
	return &Server{e, s, limitConnections(listener, mostConnections), log}, nil
}

// Address is where it listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context) error {
	logins := newLogins()
	server := &http.Server{
		Handler: logins.passed(s.guarded(s.Handler())), ConnState: s.listener.note, ErrorLog: slog.NewLogLogger(panicsOnly{s.log.Handler()}, slog.LevelError),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 15 * time.Second,
		MaxHeaderBytes: 16 << 10,
	}
	if s.serving.WebConfig != "" {
		server.BaseContext = func(net.Listener) context.Context { // web.Serve has set its own handler by now
			server.Handler = logins.check(server.Handler)
			return context.Background()
		}
	}
	if !s.serving.local() && s.serving.Openly {
		s.log.Warn("the exporter can be read from other machines without a password", "address", s.Address())
	}
	s.log.Info("exporting", "address", s.Address(), "web_config", s.serving.WebConfig)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = server.Close() // who reads a scrape at the end of the daemon asks again
	})
	defer func() {
		if !stop() {
			<-ended
		}
	}()
	quiet := slog.New(slog.DiscardHandler) // what there is to say about it has been said
	err := web.Serve(s.listener, server, &web.FlagConfig{WebConfigFile: &s.serving.WebConfig}, quiet)
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("exporter: %w", err)
}

// guarded serves nothing once the web configuration, which is read anew for each
// request, no longer asks who reads.
func (s *Server) guarded(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.serving.checkReaders() != nil {
			http.Error(w, "the web configuration does not ask who reads any more", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// panicsOnly drops what clients can cause at will, such as a failed TLS handshake.
type panicsOnly struct{ slog.Handler }

// Handle implements slog.Handler.
func (p panicsOnly) Handle(ctx context.Context, r slog.Record) error {
	if !strings.Contains(r.Message, "panic") {
		return nil
	}
	r.Message, _, _ = strings.Cut(r.Message, "\n") // the stack follows
	return p.Handler.Handle(ctx, r)
}
