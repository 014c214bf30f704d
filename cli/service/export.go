package service

import (
	"fmt"
	"os"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/daemon"
	"vramscope/exporter"
)

// servingOf is the address at which the settings serve the exporter.
func servingOf(s *config.Settings) *exporter.Serving {
	return &exporter.Serving{Address: s.Serve, WebConfig: s.WebConfig, Openly: s.ServeOpenly}
}

// checkExporter returns why the exporter cannot be served with these settings.
func checkExporter(s *config.Settings) error {
	if s.Serve == "" {
		return nil
	}
	if err := servingOf(s).Check(); err != nil {
		return command.Usage("--serve: %v", err)
	}
	return nil
}

// checkReload returns why a running daemon cannot take over new settings: it would end if
// the address they name is in use. Served is its present address, "" for none.
func checkReload(s *config.Settings, served string) error {
	if err := checkExporter(s); err != nil || s.Serve == "" || s.Serve == served {
		return err
	}
	if err := servingOf(s).CheckFree(); err != nil {
		return fmt.Errorf("exporter.address: %w", err)
	}
	return nil
}

// serveExporter adds the exporter to a daemon, if there is to be one.
func serveExporter(p *command.Program, s *config.Settings, o *daemon.Options) error {
	if s.Serve == "" {
		return nil
	}
	collector := exporter.New(exporter.Options{
		Version: command.VersionNumber(), Now: p.Now, ProcessLabels: s.ProcessLabels, Processes: s.Processes, Snapshot: s.ServeSnapshot,
	})
	server, err := exporter.Listen(collector, *servingOf(s), o.Log)
	if err != nil {
		hint := ""
		if os.IsPermission(err) {
			hint = "; a port below 1024 is root's"
		}
		return &command.Failure{Code: command.ExitFailure, Err: err, Message: fmt.Sprintf("--serve: %v%s", err, hint)}
	}
	o.Exporter = server
	return nil
}
