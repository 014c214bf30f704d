// Package cli is the command line: one file per command, the exit codes, and the
// only place where the layers are wired together.
//
//	config: defaults ← configuration file ← flags ─→ settings
//	settings ─→ sources (driver or simulator, /proc, probes) ─→ sampler ─┬→ ui           vramscope
//	                                                                     ├→ table, JSON  vramscope once
//	                                                                     └→ actions      vramscope flush, attach
//
// Errors are written as "vramscope: …" on standard error, with what to do next;
// root.go lists the exit codes, and the commands.
//
//	command/ what every command needs: streams, settings, flags, failures
//	config/  the settings and the configuration file
//	doctor/  what vramscope doctor examines
//	gather/  what commands read out of recordings and the audit log
//	launch/  how a command gets its probe (run, env)
//	render/  what commands print: tables, CSV, documents
//	restart/ replaces the process after an upgrade of the driver
//	sources/ opens what is read: driver, probes, daemons, a simulated box, recordings
package cli
