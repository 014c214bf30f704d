// Package agent is the probe of Python programs: one Python file that needs only
// the standard library, and its installation.
//
//	Install ── directory with vramscope_probe.py, sitecustomize.py
//	   ↓ PYTHONPATH
//	python ── site ── sitecustomize ── vramscope_probe ── import hook
//	                        ↓                                 ↓ torch, cupy, jax … is imported
//	            the sitecustomize that ours hides          thread ── socket ── monitor
//
// vramscope_probe.py is generated from source/ by "make agent"; start reading at
// source/header.py, then agent.py.
//
// To add a runtime:
//
//  1. source/NAME.py: a subclass of _Runtime (source/runtime.py) with name,
//     package, active, stats and, if it can free memory, flush. It must not
//     import or initialise the library, and yields the keys of docs/protocol.md.
//  2. source/startup.py: add the class to _RUNTIMES.
//  3. testdata/fake/NAME: a stand-in for the library; testdata/test_runtimes.py:
//     a test of its stats and of its flush.
//  4. make agent && go test ./probe/agent/...; docs/python.md: a line.
package agent
