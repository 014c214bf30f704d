//go:build !linux || !cgo

package startup

// StdoutClosed returns false: without C nothing runs before Go's runtime.
func StdoutClosed() bool { return false }

// AsInherited does nothing. The runtime leaves SIGHUP and SIGINT ignored by itself, and which other
// signals were ignored is unknown.
func AsInherited() {}
