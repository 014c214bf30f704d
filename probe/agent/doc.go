// Package agent is the probe of Python programs: one Python file that needs only
// the standard library, and its installation.
//
//	Install ── directory with vramscope_probe.py, sitecustomize.py
//	   ↓ PYTHONPATH
//	python ── site ── sitecustomize ── finder ── vramscope_probe
//	                        ↓                 ↑         ↓
//	            the sitecustomize       torch, cupy,  thread ── socket ── monitor
//	            that ours hides         jax … is imported
//
// vramscope_probe.py is generated from source/ by "make agent"; start reading at
// source/header.py, then agent.py.
// CONTRIBUTING.md says how to add a runtime.
package agent
