"""Blocks all signals but SIGSEGV and SIGTRAP, which a debugger unblocks (docs/attach.md)."""

import signal

import zoo

signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - {signal.SIGSEGV, signal.SIGTRAP})
zoo.meet()
print(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
zoo.end()
