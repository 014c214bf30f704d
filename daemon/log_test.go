package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

func TestLogIsForPeopleOrForTheJournal(t *testing.T) {
	for journal, want := range map[bool]string{
		false: time.Now().Format(time.DateOnly), true: `<4>recording paused reason="disk full" gpu=3` + "\n",
	} {
		out := &bytes.Buffer{}
		slog.New(newHandler(out, journal)).With("reason", "disk full").Warn("recording paused", "gpu", 3)
		if !strings.HasPrefix(out.String(), want) || !strings.Contains(out.String(), `recording paused reason="disk full" gpu=3`) {
			t.Errorf("journal %t: %q", journal, out)
		}
	}
	for level, want := range map[slog.Level]string{slog.LevelInfo: "<6>", slog.LevelError: "<3>"} {
		out := &bytes.Buffer{}
		slog.New(newHandler(out, true)).Log(t.Context(), level, "x")
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: %q", level, out)
		}
	}
}

// TestLogForgesNoLine: texts from outside are quoted.
func TestLogForgesNoLine(t *testing.T) {
	out := &bytes.Buffer{}
	slog.New(newHandler(out, true)).Info("the driver answers", "version", "1\n<0>kernel panic\x1b[2J")
	if strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%q", out)
	}
}

func TestJournalIsRecognized(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "stream")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if stream := fmt.Sprintf("%d:%d", st.Dev, st.Ino); !toJournal(file, stream) || toJournal(file, "1:1") || toJournal(file, "") {
		t.Errorf("%s is not recognized", stream)
	}
}

func TestLockSaysWhoIsThere(t *testing.T) {
	directory := t.TempDir()
	since := time.Date(2026, 11, 21, 3, 12, 0, 0, time.Local)
	held, err := lock(directory, since)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lock(directory, since)
	if _, is := errors.AsType[*Running](err); !is || !strings.Contains(err.Error(), "PID "+strconv.Itoa(os.Getpid())+", since 2026-11-21 03:12:00") {
		t.Errorf("%v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := lock(directory, since)
	if err != nil {
		t.Fatalf("after the end: %v", err)
	}
	_ = again.Close()
	// A link is not followed.
	path := filepath.Join(directory, lockName)
	target := filepath.Join(t.TempDir(), "target")
	if err := errors.Join(os.Remove(path), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := lock(directory, since); err == nil {
		t.Error("a link is followed")
	}
}

// TestLogLineIsBounded: a line has a limit even if the long text is in several values.
func TestLogLineIsBounded(t *testing.T) {
	out := &bytes.Buffer{}
	log := slog.New(newHandler(out, true))
	huge := strings.Repeat("ä", 1<<20)
	log.Error(huge)
	log.Error("failed", "error", errors.New(huge), "command", huge)
	log.Error("short")
	lines := strings.SplitAfter(out.String(), "\n")
	if len(lines) != 4 || lines[2] != "<3>short\n" || lines[3] != "" {
		t.Fatalf("%d lines, the third %.100q", len(lines), lines[2])
	}
	for _, line := range lines[:2] {
		if len(line) > longestLine+10 || !strings.HasSuffix(line, "ä…\n") || !utf8.ValidString(line) {
			t.Errorf("%d bytes: %.100q", len(line), line)
		}
	}
}
