// Package launch prepares a command's environment so that a probe comes up in
// it, for vramscope run and vramscope env:
//
//	Inspect(path) ─→ Command ─┬ Python  PYTHONPATH, behind which is the probe's sitecustomize
//	                          └ native  LD_PRELOAD, if nothing is in the way
//
// Start with Inspect. It changes no environment of its own: cli executes the
// command.
package launch
