//go:build !(amd64 || arm64)

package preload

var packed []byte
