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
// CONTRIBUTING.md says how to add a runtime.
package agent
