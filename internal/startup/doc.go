// Package startup has what must happen before Go's runtime starts. It remembers what the
// process was started with and the runtime hides: that opens /dev/null in the place of a
// closed standard output, and writing there succeeds. And it has C's threads share a heap.
// Source: https://github.com/golang/go/blob/go1.26.0/src/runtime/fds_unix.go
package startup
