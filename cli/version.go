package cli

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// version is set by the linker for a release: -X vramscope/cli.version=1.0.0.
var version string

// versionNumber is the linker's version, or else what Go knows of the source.
func versionNumber() string {
	if version != "" {
		return strings.TrimPrefix(version, "v")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	revision := buildSetting(info, "vcs.revision")
	if revision == "" {
		return "built from source"
	}
	v := "built from " + revision[:min(len(revision), 9)]
	if buildSetting(info, "vcs.modified") == "true" {
		v += ", changed"
	}
	return v
}

// versionLine is what --version prints after the program's name.
func versionLine() string {
	cgo := "without cgo"
	if info, ok := debug.ReadBuildInfo(); ok && buildSetting(info, "CGO_ENABLED") == "1" {
		cgo = "cgo"
	}
	return versionNumber() + " (" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ", " + cgo + ")"
}

func buildSetting(info *debug.BuildInfo, key string) string {
	for _, setting := range info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}
