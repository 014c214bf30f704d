package command

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// version and builder are set by the linker: -X vramscope/cli/command.version=1.0.0.
var version, builder string

// VersionNumber returns the version set by the linker, or else the one in Go's build information.
func VersionNumber() string {
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

// VersionLine returns the text of --version after the program's name.
func VersionLine() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return VersionNumber() + " (" + buildText(info) + ")"
}

// buildText describes a build: Go's version, the platform, cgo, the commit and the builder.
func buildText(info *debug.BuildInfo) string {
	cgo := "without cgo"
	if buildSetting(info, "CGO_ENABLED") == "1" {
		cgo = "cgo"
	}
	commit := "commit unknown"
	if revision := buildSetting(info, "vcs.revision"); revision != "" {
		day, _, _ := strings.Cut(buildSetting(info, "vcs.time"), "T")
		commit = "commit " + revision[:min(len(revision), 9)] + " of " + cmp.Or(day, "an unknown day")
	}
	if buildSetting(info, "vcs.modified") == "true" {
		commit += ", changed"
	}
	return runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ", " + cgo + "; " + commit + "; built by " + cmp.Or(builder, "go")
}

func buildSetting(info *debug.BuildInfo, key string) string {
	for _, setting := range info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}
