//go:build !linux || !cgo

package cli

// ignoreAsBefore would ignore the signals that this program was started to
// ignore. Without C only SIGHUP and SIGINT are known, which Go's runtime leaves
// ignored.
func ignoreAsBefore() {}
