// Package cli is the command line: the root, the list of commands, help, completion
// and the man page. Most commands are in a package below:
//
//	monitor/   the live screen
//	present/   this box now: once, stream, headroom, advise
//	past/      recordings: replay, export, report, why, backtest
//	actions/   on one process: flush, attach, snapshot, holds and more
//	launch/    programs with a probe: run, env
//	leases/    lease claim, renew, release, list
//	service/   daemon
//	guarding/  guard check, log, replay
//	boxes/     fleet, fleet once, fleet headroom
//	trial/     demo, demo rescue, demo lease, probe
//
// The commands use these packages:
//
//	config: defaults ← configuration file ← flags ─→ settings
//	settings ─→ sources (driver or simulator, /proc, probes) ─→ sampler ─┬→ ui           vramscope
//	                                                                     ├→ table, JSON  vramscope once
//	                                                                     └→ actions      vramscope flush, attach
//
//	command/   streams, settings, flags, failures, exit codes
//	sources/   opens the driver, probes, daemons, a simulated box, recordings
//	restart/   replaces the process: after an upgrade of the driver, or to reload a daemon
//	config/    the settings and the configuration file
//	doctor/    the command doctor and its checks
//	gather/    reads recordings and the audit log
//	render/    formats output: tables, CSV, documents
//
// Errors go to standard error as "vramscope: …", with what to do next. Start with root.go.
package cli
