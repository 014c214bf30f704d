//go:build !linux || !cgo

package launch

// AsInherited does nothing without C: Go's runtime leaves SIGHUP and SIGINT
// ignored by itself, and the others are not known.
func AsInherited() {}
