package preload_test

import (
	"debug/elf"
	"fmt"
	"slices"
	"testing"

	"vramscope/internal/needs"
)

// crossRoot is where Debian's libc6-arm64-cross puts its libraries.
const crossRoot = "/usr/aarch64-linux-gnu"

// TestLibrariesNeedOldLibc: every process below vramscope run loads the library, so it needs only
// libc.so.6, and apart from weak ones only names that glibc has had since 2.17.
func TestLibrariesNeedOldLibc(t *testing.T) {
	for name, libc := range map[string]string{
		"libvramscope-amd64.so": "/lib/x86_64-linux-gnu/libc.so.6",
		"libvramscope-arm64.so": crossRoot + "/lib/libc.so.6",
	} {
		t.Run(name, func(t *testing.T) {
			library := opened(t, name)
			needed, err := library.ImportedLibraries()
			if err != nil || !slices.Equal(needed, []string{"libc.so.6"}) {
				t.Errorf("it needs %q: %v", needed, err)
			}
			if !exists(libc) {
				needs.Missing(t, "no %s: install libc6-arm64-cross", libc)
			}
			old := make(map[string]bool)
			for _, s := range symbols(t, opened(t, libc)) {
				if s.Section != elf.SHN_UNDEF && isOld(s.Version) {
					old[s.Name] = true
				}
			}
			for _, s := range symbols(t, library) {
				if s.Section == elf.SHN_UNDEF && elf.ST_BIND(s.Info) != elf.STB_WEAK && !old[s.Name] {
					t.Errorf("%s is not in glibc 2.17", s.Name)
				}
			}
		})
	}
}

func isOld(version string) bool {
	var minor int
	_, err := fmt.Sscanf(version, "GLIBC_2.%d", &minor)
	return err == nil && minor <= 17
}

func opened(t *testing.T, path string) *elf.File {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() }) // read only
	return file
}

func symbols(t *testing.T, file *elf.File) []elf.Symbol {
	t.Helper()
	all, err := file.DynamicSymbols()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d symbols: %v", len(all), err)
	}
	return all
}
