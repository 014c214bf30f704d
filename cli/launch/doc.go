// Package launch prepares a command's environment so that a probe starts in it, for vramscope run
// and vramscope env:
//
//	Inspect(path) ─→ Command ─┬ any     PYTHONPATH, which leads to the probe's sitecustomize
//	                          └ native  LD_PRELOAD, if nothing is in the way
//
// The commands are in run.go and env.go.
package launch
