// Package config holds the settings of a run of vramscope. One table of options makes the flags,
// the configuration file, its documentation and the messages:
//
//	Defaults ← configuration file (Load) ← flags (Option.Set, by cli) ─→ Settings
//
// Start with Options.
package config
