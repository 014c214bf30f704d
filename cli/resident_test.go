package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestForgetFilePages: what was written stays, as relocations do, and the program
// goes on.
func TestForgetFilePages(t *testing.T) {
	const smaps = `00400000-00411000 r--p 00000000 fe:00 42                           /usr/bin/vramscope
Size:                 68 kB
Rss:                  68 kB
Anonymous:             0 kB
Swap:                  0 kB
00411000-0117c000 r-xp 00011000 fe:00 42                           /usr/bin/vramscope
Rss:               13740 kB
Anonymous:             0 kB
AnonHugePages:         0 kB
Swap:                  0 kB
SwapPss:               0 kB
01f04000-01f05000 r--p 01b03000 fe:00 42                           /usr/bin/vramscope
Anonymous:             4 kB
Swap:                  4 kB
01f05000-01f06000 r--p 01b04000 fe:00 42                           /usr/bin/vramscope
Anonymous:             0 kB
Swap:                  4 kB
01f06000-020ae000 rw-p 01b04000 fe:00 42                           /usr/bin/vramscope
Anonymous:             0 kB
Swap:                  0 kB
020ae000-0431f000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f89b221f000-7f89b2375000 r-xp 00028000 fe:00 7                     /usr/lib/libc.so.6
Anonymous:             0 kB
Swap:                  0 kB
7f89b2375000-7f89b2376000 r-xp 00028000 fe:00 8                     /home/a b/libx.so (deleted)
Anonymous:             0 kB
Swap:                  0 kB
7f89b2376000-7f89b2377000 r-xp 00000000 00:00 0                     [vdso]
Anonymous:             0 kB
Swap:                  0 kB
`
	want := []mapping{
		{0x400000, 0x411000, "/usr/bin/vramscope"}, {0x411000, 0x117c000, "/usr/bin/vramscope"},
		{0x7f89b221f000, 0x7f89b2375000, "/usr/lib/libc.so.6"}, {0x7f89b2375000, 0x7f89b2376000, "/home/a b/libx.so (deleted)"},
	}
	if got := unwrittenMappings(strings.NewReader(smaps)); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip("the kernel has no smaps")
	}
	defer func() { _ = own.Close() }()
	if !slices.ContainsFunc(unwrittenMappings(own), func(m mapping) bool { return m.path == path }) {
		t.Error("no mapping of this program was found")
	}
	for range 3 {
		forgetFilePages()
	}
}

// TestOnLocalDisk: what is not known to be a disk of this machine is taken for a server's.
func TestOnLocalDisk(t *testing.T) {
	if !onLocalDisk(t.TempDir()) {
		t.Error("temporary files are on a server")
	}
	for _, path := range []string{"/proc", "/nowhere"} {
		if onLocalDisk(path) {
			t.Errorf("%s is on a disk", path)
		}
	}
}
