// Package source holds the Python probe's source, one file per runtime and per
// part of the server, and joins it into the one file that ships.
//
//	header.py, runtime.py + agent.py … tensorflow.py + startup.py ── Join ──→ ../vramscope_probe.py
package source
