// Package config holds the settings of a run of vramscope. One table of options defines the flags
// and the configuration file:
//
//	Defaults ← configuration file (Load) ← flags (Option.Set, by cli) ─→ Settings
//
// Start with Options.
package config
