package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/probe"
)

// TestRefused: an error that the daemon answers is a refusal; a broken connection is not.
func TestRefused(t *testing.T) {
	no := &probe.Error{Code: probe.Forbidden}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("daemon: %w", no), true},
		{fmt.Errorf("daemon: %w: %w", ErrBroken, no), false},
		{fmt.Errorf("daemon: %w", ErrBroken), false},
		{errors.New("another"), false},
	} {
		if got := refused(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// TestAnswersAreLimited: the number of members is limited before an answer is decoded, and so is
// the number of items in each list.
func TestAnswersAreLimited(t *testing.T) {
	list := func(name, item string, n int) string {
		return `{"` + name + `":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]}"
	}
	for _, c := range []struct {
		line string
		want string
	}{
		{list("processes", "{}", maxProcesses), ""},
		{list("processes", "{}", maxProcesses+1), "too many items"},
		{list("points", "null", maxBuckets), ""},
		{list("points", "null", maxBuckets+1), "too many items"},
		{list("events", "{}", maxEvents), ""},
		{list("events", "{}", maxEvents+1), "too many items"},
		{list("leases", "{}", maxLeases), ""},
		{list("leases", "{}", maxLeases+1), "too many items"},
		{list("unknown", "0", maxMembers+1), ""},
		{list("unknown", "0", maxMembers+2), "members in one line"},
	} {
		if err := decode([]byte(c.line), new(answer)); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20s…: %v, want %q", c.line, err, c.want)
		}
	}
}

// answering returns a client of a daemon that has sent these lines, and then hung up.
func answering(t *testing.T, answers ...string) *Client {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), Name), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: listener.Addr().String(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(daemon, strings.Join(answers, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
	_ = daemon.CloseWrite()
	t.Cleanup(func() { _ = errors.Join(conn.Close(), daemon.Close()) })
	return newClient(conn)
}

// TestClaimHasTimeToWait: a client reads the answer to a claim that may wait for an hour.
func TestClaimHasTimeToWait(t *testing.T) {
	c := answering(t, `{"id":1,"ok":true,"lease":{"id":"a"}}`)
	if given, err := c.askLease(t.Context(), &request{Cmd: cmdClaim, WaitNS: int64(time.Hour)}); err != nil || given.ID != "a" {
		t.Errorf("%+v, %v", given, err)
	}
}

// TestDaemonHasLittleTimeToAnswer: a client does not wait longer for an answer because its caller has more time.
func TestDaemonHasLittleTimeToAnswer(t *testing.T) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), Name), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // it never answers
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: listener.Addr().String(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*answerTime)
	defer cancel()
	began := time.Now()
	err = newClient(conn).ask(ctx, &request{Cmd: cmdLeases, WaitNS: int64(10*time.Millisecond - answerTime)}, new(answer)) // 10 ms in all
	if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took >= answerTime {
		t.Errorf("after %v: %v", took, err)
	}
}

// TestFirstDaemonThatAnswersIsTaken: a client connects to a daemon although another place has none, or one that
// refuses.
func TestFirstDaemonThatAnswersIsTaken(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "none"))
	owner, refusing := uint32(os.Geteuid()), t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(refusing, Name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		if conn, err := listener.Accept(); err == nil {
			fmt.Fprintln(conn, `{"id":1,"ok":false,"error":{"code":"wrong_version"}}`)
			_ = conn.Close() // the client reads the refusal
		}
	}()
	client, err := Dial(t.Context(), []Place{{t.TempDir(), owner}, {refusing, owner}, {directory, owner}})
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close() // it has answered
}

// TestAnswersAreOfTheRequest: a connection that answers another request is closed. A connection
// that refuses is kept.
func TestAnswersAreOfTheRequest(t *testing.T) {
	for answer, broken := range map[string]bool{
		`{"id":1,"ok":true,"guard":{}}`:                         false,
		`{"id":1,"ok":false,"error":{"code":"busy"}}`:           false,
		`{"id":2,"ok":true,"guard":{}}`:                         true,
		`{"id":2,"ok":false,"error":{"code":"busy"}}`:           true,
		`{"id":1,"ok":false}`:                                   true,
		`{"id":1,"ok":true}`:                                    true,
		`{"id":1,"ok":true,"guard":{},"error":{"code":"busy"}}`: false,
		`{"id":1,"ok":`:                                         true,
		``:                                                      true,
	} {
		_, err := answering(t, answer).Guard(t.Context())
		if errors.Is(err, ErrBroken) != broken || refused(err) != (err != nil && !broken) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}
