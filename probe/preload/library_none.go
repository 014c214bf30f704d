//go:build !linux || !(amd64 || arm64)

package preload

var library []byte
