package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
	"vramscope/probe"
)

// answerer makes the answer to a request, as a struct with a probe's fields. A snapshot is
// written to file.
type answerer func(cmd string, file *os.File) (any, error)

// serveProbe serves a probe in this process until the context ends. It calls ready
// when monitors can connect.
func serveProbe(ctx context.Context, answer answerer, ready func() error) error {
	place, err := probe.OwnPlace()
	if err != nil {
		return err
	}
	// The name is relative to its directory, because the path of a test can be too long for a socket.
	directory := probe.Directories(os.Geteuid(), os.Getenv("XDG_RUNTIME_DIR"))[0]
	if err := errors.Join(os.MkdirAll(directory, 0o700), os.Chdir(directory)); err != nil {
		return err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Base(place), Net: "unix"})
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return ctx.Err()
		}
		go answerLines(conn, answer)
	}
}

// lentFile reads a connection, and keeps the last file descriptor that it received.
type lentFile struct {
	*net.UnixConn
	file *os.File
}

func (l *lentFile) Read(buffer []byte) (int, error) {
	var control [64]byte
	n, controlled, _, _, err := l.ReadMsgUnix(buffer, control[:])
	if messages, _ := unix.ParseSocketControlMessage(control[:controlled]); len(messages) == 1 {
		if fds, _ := unix.ParseUnixRights(&messages[0]); len(fds) == 1 {
			l.file = os.NewFile(uintptr(fds[0]), "snapshot")
		}
	}
	return max(n, 0), err // less than 0 with an error
}

func answerLines(conn *net.UnixConn, answer answerer) {
	defer func() { _ = conn.Close() }() // the monitor has left
	from := &lentFile{UnixConn: conn}
	for in := bufio.NewScanner(from); in.Scan(); {
		var asked struct {
			ID  uint64 `json:"id"`
			Cmd string `json:"cmd"`
		}
		if json.Unmarshal(in.Bytes(), &asked) != nil {
			return
		}
		done := map[string]any{"id": asked.ID, "ok": true}
		fields, err := answer(asked.Cmd, from.file)
		if err == nil {
			var text []byte
			if text, err = json.Marshal(fields); err == nil {
				err = json.Unmarshal(text, &done)
			}
		}
		if err != nil {
			refusal, ok := errors.AsType[*probe.Error](err)
			if !ok {
				refusal = &probe.Error{Code: probe.Internal, Message: err.Error()}
			}
			done = map[string]any{"id": asked.ID, "ok": false, "error": refusal}
		}
		line, err := json.Marshal(done)
		if err != nil {
			return
		}
		if _, err := conn.Write(append(line, '\n')); err != nil {
			return
		}
	}
}

// ofThisProcess sets the protocol and the process of a hello.
func ofThisProcess(h probe.Hello) (probe.Hello, error) {
	id, err := process.NewTable("/proc").Identify(os.Getpid())
	h.Proto, h.PID, h.StartTime = probe.Version, os.Getpid(), id.StartTime
	return h, err
}
