// Package agent is the probe of Python programs: one Python file that needs only
// the standard library, and its installation.
//
//	source/*.py ── Source ── Install ── directory with vramscope_probe.py, sitecustomize.py
//	                                       ↓ PYTHONPATH
//	python ── site ── sitecustomize ── finder ── vramscope_probe
//	                        ↓                 ↑         ↓
//	            the sitecustomize       torch, cupy,  thread ── socket ── monitor
//	            that ours hides         jax … is imported
//
// source/ has one file per runtime and per part of the probe; start reading at
// source/header.py, then agent.py. After a change run "make agent", which records the hashes.
// CONTRIBUTING.md says how to add a runtime.
package agent
