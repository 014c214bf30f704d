// Package config is what a run of vramscope can be configured with. One table of options makes the
// flags, the configuration file, its documentation and the messages:
//
//	Defaults ← configuration file (Load) ← flags (Option.Set, by cli) ─→ Settings
//
// Start with Options.
package config
