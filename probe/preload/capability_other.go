//go:build !linux

package preload

func hasCapabilities(string) bool { return false }

func executable(string) bool { return true }
