//go:build linux

package main

import (
	"flag"
	"fmt"
	"image/color"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

func main() {
	size := flag.String("size", "120x40", "columns x rows")
	after := flag.Duration("after", 5*time.Second, "how long the program runs first")
	keys := flag.String("keys", "", "keys to press then, separated by blanks; Enter and Esc by name")
	out := flag.String("o", "screen.svg", "the picture")
	light := flag.Bool("light", false, "a light ground")
	flag.Parse()
	if err := shoot(*size, *after, *keys, *out, *light, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "screenshot:", err)
		os.Exit(1)
	}
}

func shoot(size string, after time.Duration, keys, out string, light bool, command []string) error {
	var columns, rows int
	if _, err := fmt.Sscanf(size, "%dx%d", &columns, &rows); err != nil {
		return fmt.Errorf("size %q: want columns x rows, as 120x40", size)
	}
	if len(command) == 0 {
		return fmt.Errorf("no command: put it after --")
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor", "LC_ALL=C.UTF-8")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		return err
	}
	screen := newScreen(columns, rows, light)
	done := make(chan struct{})
	go func() { defer close(done); screen.follow(terminal) }()
	time.Sleep(after)
	for _, key := range strings.Fields(keys) {
		if name, ok := map[string]string{"Enter": "\r", "Esc": "\x1b", "Space": " "}[key]; ok {
			key = name
		}
		if _, err := io.WriteString(terminal, key); err != nil {
			return err
		}
		time.Sleep(600 * time.Millisecond)
	}
	time.Sleep(time.Second)
	picture := screen.svg()
	_, _ = io.WriteString(terminal, "\x03") // Ctrl-C ends every program shown here
	_ = cmd.Wait()
	_ = terminal.Close()
	<-done
	return os.WriteFile(out, []byte(picture), 0o644)
}

// screen is a terminal that keeps what is shown on it.
type screen struct {
	mu            sync.Mutex
	emulator      *vt.Emulator
	columns, rows int
	fg, bg        color.RGBA
}

func newScreen(columns, rows int, light bool) *screen {
	s := &screen{emulator: vt.NewEmulator(columns, rows), columns: columns, rows: rows}
	s.fg, s.bg = color.RGBA{0xd0, 0xd0, 0xd0, 0xff}, color.RGBA{0x12, 0x14, 0x18, 0xff}
	if light {
		s.fg, s.bg = color.RGBA{0x24, 0x24, 0x24, 0xff}, color.RGBA{0xff, 0xff, 0xff, 0xff}
	}
	s.emulator.SetDefaultForegroundColor(s.fg)
	s.emulator.SetDefaultBackgroundColor(s.bg)
	return s
}

// follow shows what the program writes, and answers what it asks.
func (s *screen) follow(terminal *os.File) {
	go func() { _, _ = io.Copy(terminal, s.emulator) }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := terminal.Read(buffer)
		s.mu.Lock()
		_, _ = s.emulator.Write(buffer[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}
