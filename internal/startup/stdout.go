//go:build !linux || !cgo

package startup

// StdoutClosed returns false: without C nothing runs before Go's runtime.
func StdoutClosed() bool { return false }
