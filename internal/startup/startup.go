//go:build !linux || !cgo

package startup

// StdoutClosed returns false: without C nothing runs before Go's runtime.
func StdoutClosed() bool { return false }

// AsInherited does nothing: the runtime leaves SIGHUP and SIGINT ignored by itself, and
// the others are not known.
func AsInherited() {}
