// Package startup does what must happen before Go's runtime starts. It remembers two things that
// the runtime hides: the signals that the process was started to ignore, and the standard
// descriptors that were closed, in whose place the runtime opens /dev/null so that writing
// succeeds. It also makes C's threads share a heap. Source:
// https://github.com/golang/go/blob/go1.26.0/src/runtime/fds_unix.go
package startup
