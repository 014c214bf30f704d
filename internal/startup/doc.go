// Package startup has what must happen before Go's runtime starts. It remembers what the process
// was started with and the runtime hides: the signals that it ignores, and its closed standard
// descriptors, in whose place the runtime opens /dev/null: writing there succeeds. It also makes
// C's threads share a heap. Source:
// https://github.com/golang/go/blob/go1.26.0/src/runtime/fds_unix.go
package startup
