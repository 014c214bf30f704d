package command

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionNamesCommitDateAndBuilder(t *testing.T) {
	set := func(settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	for want, info := range map[string]*debug.BuildInfo{
		"cgo; commit 1d76f60db of 2026-11-22; built by go":          set("CGO_ENABLED", "1", "vcs.revision", "1d76f60dbd8a", "vcs.time", "2026-11-22T18:35:55Z"),
		"cgo; commit 1d76f60db of 2026-11-22, changed; built by go": set("vcs.revision", "1d76f60dbd8a", "vcs.time", "2026-11-22T18:35:55Z", "vcs.modified", "true"),
		"without cgo; commit unknown; built by go":                  set("CGO_ENABLED", "0"),
	} {
		if got := buildText(info); !strings.HasPrefix(got, "go1.") || !strings.HasSuffix(got, want) {
			t.Errorf("%q, want …%q", got, want)
		}
	}
}
