// Package config holds the settings of a run of vramscope. Options defines the flags that change them
// and the keys of the configuration file, except the lists of tables:
//
//	Defaults ← configuration file (Load) ← flags (Option.Set, by cli) ─→ Settings
//
// Start with Options.
package config
