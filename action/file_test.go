package action

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"vramscope/internal/needs"
)

// limited is the variable that makes this test binary a program whose log has room for one action.
const limited = "VRAMSCOPE_TEST_FULL_DISK"

func TestMain(m *testing.M) {
	if directory := os.Getenv(limited); directory != "" {
		os.Exit(fillDisk(directory))
	}
	os.Exit(m.Run())
}

// fillDisk logs two actions where files can have only 600 bytes, which for the log is like a full
// disk. It returns how many of the actions were done.
func fillDisk(directory string) (done int) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := unix.Rlimit{Cur: 600, Max: 600}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return 9
	}
	for range 2 {
		_ = (&Log{Directory: directory}).Do(testEntry(), func(*Entry) error { done++; return nil }) // the number of actions done counts
	}
	return done
}

func TestNothingIsDoneOnAFullDisk(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "state")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), limited+"="+directory)
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the second action was not refused: %v", err)
	}
	if info, err := os.Stat(filepath.Join(directory, LogName)); err != nil || info.Size() != 600 {
		t.Fatalf("the disk was not full: %v, %v", info, err)
	}
	// Once there is room again, the next entry begins on a new line.
	if err := (&Log{Directory: directory}).Do(testEntry(), func(*Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	lines := readLines(t, directory)
	if n := len(lines); n != 5 || valid(lines[2]) || !valid(lines[3]) || !valid(lines[4]) {
		t.Errorf("the log is %q", lines)
	}
}

// TestLogIsNotRedirected: if anything other than the log or its directory has that name, no action
// is taken, nothing is written elsewhere, and the refusal says what to do.
func TestLogIsNotRedirected(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(base, elsewhere string) error
		want    string
	}{
		"symlinked file": {func(base, elsewhere string) error {
			return errors.Join(os.MkdirAll(filepath.Join(base, "state"), 0o700),
				os.WriteFile(filepath.Join(elsewhere, "target"), nil, 0o600),
				os.Symlink(filepath.Join(elsewhere, "target"), filepath.Join(base, "state", LogName)))
		}, "is a symbolic link"},
		"dangling link": {func(base, elsewhere string) error {
			return errors.Join(os.MkdirAll(filepath.Join(base, "state"), 0o700),
				os.Symlink(filepath.Join(elsewhere, "none"), filepath.Join(base, "state", LogName)))
		}, "is a symbolic link"},
		"symlinked directory": {func(base, elsewhere string) error {
			return os.Symlink(elsewhere, filepath.Join(base, "state"))
		}, "is a symbolic link"},
		"symlinked parent": {func(base, elsewhere string) error {
			return errors.Join(os.Mkdir(filepath.Join(elsewhere, "state"), 0o700), os.Remove(base), os.Symlink(elsewhere, base))
		}, "is a symbolic link"},
		"hard link": {func(base, elsewhere string) error {
			return errors.Join(os.MkdirAll(filepath.Join(base, "state"), 0o700),
				os.WriteFile(filepath.Join(elsewhere, "target"), nil, 0o600),
				os.Link(filepath.Join(elsewhere, "target"), filepath.Join(base, "state", LogName)))
		}, "has 2 names"},
		"FIFO": {func(base, _ string) error {
			return errors.Join(os.MkdirAll(filepath.Join(base, "state"), 0o700), syscall.Mkfifo(filepath.Join(base, "state", LogName), 0o600))
		}, "is not a regular file"},
		"directory in its place": {func(base, _ string) error {
			return os.MkdirAll(filepath.Join(base, "state", LogName), 0o700)
		}, "is a directory"},
		"world-writable directory": {func(base, _ string) error {
			return errors.Join(os.Mkdir(filepath.Join(base, "state"), 0o700), os.Chmod(filepath.Join(base, "state"), 0o777))
		}, "can be written by others (mode 0777): chmod go-w it"},
		"readable by others": {func(base, _ string) error {
			path := filepath.Join(base, "state", LogName)
			return errors.Join(os.Mkdir(filepath.Join(base, "state"), 0o700), os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644))
		}, "can be read by others (mode 0644): chmod 600 it"},
		"file in the directory's place": {func(base, _ string) error {
			return os.WriteFile(filepath.Join(base, "state"), nil, 0o600)
		}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			base, elsewhere := filepath.Join(root, "home"), filepath.Join(root, "elsewhere")
			if err := errors.Join(os.Mkdir(base, 0o700), os.Mkdir(elsewhere, 0o700), c.arrange(base, elsewhere)); err != nil {
				t.Fatal(err)
			}
			log := &Log{Directory: filepath.Join(base, "state")}
			err := log.Do(testEntry(), func(*Entry) error { t.Error("it was done"); return nil })
			if !Refused(err) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
				t.Errorf("it says %v, want %q", err, c.want)
			}
			if checked := log.Check(); checked == nil || name != "directory in its place" && !strings.Contains(checked.Error(), c.want) {
				t.Errorf("Check says %v", checked)
			}
			if failed := filepath.WalkDir(elsewhere, func(path string, entry fs.DirEntry, err error) error {
				if info, e := entry.Info(); err != nil || e != nil || !entry.IsDir() && info.Size() > 0 || entry.Name() == "none" {
					t.Errorf("%s was written, or %v", path, errors.Join(err, e))
				}
				return nil
			}); failed != nil {
				t.Error(failed)
			}
		})
	}
}

func TestOthersFilesAreNotWritten(t *testing.T) {
	var stat unix.Stat_t
	if err := unix.Stat(t.TempDir(), &stat); err != nil {
		t.Fatal(err)
	}
	stat.Uid++
	if err := checkDirectory("/x", &stat); err == nil || !strings.Contains(err.Error(), "another user's") {
		t.Errorf("another user's directory: %v", err)
	}
	stat.Mode = unix.S_IFREG | 0o600
	if err := checkFile("/x", &stat); err == nil || !strings.Contains(err.Error(), "another user's") {
		t.Errorf("another user's file: %v", err)
	}
}

// Most Linux systems have /bin → usr/bin, which only root can have made.
func TestLinksThatOnlyRootCanMakeAreFollowed(t *testing.T) {
	if info, err := os.Lstat("/bin"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Skip("/bin is no link here")
	}
	if got := resolve("/bin/not/there"); got != "/usr/bin/not/there" {
		t.Errorf("/bin/not/there resolves to %s", got)
	}
	if got := resolve("/bin"); got != "/bin" {
		t.Errorf("the directory itself may be a link: %s", got)
	}
	for _, link := range []string{t.TempDir() + "/link", filepath.Join("/dev/shm", fmt.Sprintf("vramscope-test-%d", os.Getpid()))} { // below directories that others can write
		if err := os.Symlink("/usr", link); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(link)
		if got := resolve(link + "/bin/x"); got != link+"/bin/x" {
			t.Errorf("%s was followed to %s", link, got)
		}
	}
}

// TestLinksOfRootsOwnDirectories: a link may be followed unless another user can change it.
func TestLinksOfRootsOwnDirectories(t *testing.T) {
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("it makes directories of root's in /run")
	}
	base, err := os.MkdirTemp("/run", "vramscope-test-")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = os.RemoveAll(base) }() // base may be incomplete
	others := filepath.Join(base, "others")
	if err := errors.Join(os.Chmod(base, 0o755), os.Mkdir(others, 0o755), os.Mkdir(filepath.Join(base, "real"), 0o755),
		os.Symlink("real", filepath.Join(base, "relative")), os.Symlink("/usr", filepath.Join(others, "link")), os.Chown(others, 1234, -1),
		os.Symlink("round", filepath.Join(base, "and")), os.Symlink("and", filepath.Join(base, "round"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"relative/x": "real/x", "relative/x/y": "real/x/y", "others/link/x": "others/link/x"} {
		if got := resolve(filepath.Join(base, path)); got != filepath.Join(base, want) {
			t.Errorf("%s resolves to %s", path, got)
		}
	}
	if _, err := openDirectory(filepath.Join(base, "round", "x"), false); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("a link to itself: %v", err)
	}
}

func TestCheckChangesNothing(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "state", "vramscope")
	log := &Log{Directory: directory}
	if err := log.Check(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(directory)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
	if err := log.Do(testEntry(), func(*Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := log.Check(); err != nil || len(readLines(t, directory)) != 2 {
		t.Errorf("%v, %q", err, readLines(t, directory))
	}
}

// TestLogIsProved: the proof makes the log and changes nothing else. It fails while nothing can be
// written.
func TestLogIsProved(t *testing.T) {
	disk := t.TempDir()
	mount := func(flags uintptr) error { return unix.Mount("tmpfs", disk, "tmpfs", flags, "size=64k,mode=0700") }
	if err := mount(0); err != nil {
		if os.Geteuid() != 0 {
			t.Skip("mounting needs root")
		}
		needs.Missing(t, "no file system can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	log := &Log{Directory: filepath.Join(disk, "state")}
	for range 2 {
		if err := log.Prove(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(log.Directory, LogName)); err != nil || info.Size() != 0 || info.Mode() != 0o600 {
		t.Errorf("the log is %v, %v", info, err)
	}

	if err := mount(unix.MS_REMOUNT | unix.MS_RDONLY); err != nil {
		t.Fatalf("a file is still open: %v", err)
	}
	if err := log.Prove(); !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), "the audit log cannot be written: "+log.Directory) {
		t.Errorf("read-only: %v", err)
	}
	if err := mount(unix.MS_REMOUNT); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(disk, "full")
	if err := os.WriteFile(full, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := log.Record(testEntry()); err != nil { // room was kept for its entry
		t.Errorf("after a proof: %v", err)
	}
	if err := log.Prove(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("full: %v", err)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if err := log.Prove(); err != nil {
		t.Errorf("mended: %v", err)
	}
	// ramfs reserves no room in a file, so its free space is checked.
	if err := unix.Mount("ramfs", disk, "ramfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(disk, unix.MNT_DETACH) }()
	if err := (&Log{Directory: filepath.Join(disk, "ram")}).Prove(); err != nil {
		t.Errorf("without fallocate: %v", err)
	}
	var none *Log
	if err := none.Prove(); err != nil {
		t.Errorf("of a simulated box: %v", err)
	}
}
