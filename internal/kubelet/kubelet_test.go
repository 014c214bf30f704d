package kubelet

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// message returns an encoded message. fields are pairs of a number and a string or message.
func message(fields ...any) string {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		b = protowire.AppendTag(b, protowire.Number(fields[i].(int)), protowire.BytesType)
		b = protowire.AppendString(b, fields[i+1].(string))
	}
	return string(b)
}

func devices(ids ...string) string {
	b := message(1, "nvidia.com/gpu")
	for _, id := range ids {
		b += message(2, id)
	}
	return message(2, b)
}

// answering starts a kubelet that answers with a frame and a status.
func answering(t *testing.T, frame, status string) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var http2 http.Protocols
	http2.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: &http2, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1.PodResourcesLister/List" || r.Header.Get("Content-Type") != "application/grpc" || r.Header.Get("Te") != "trailers" || string(asked) != "\x00\x00\x00\x00\x00" {
			t.Errorf("%s %v %q", r.URL.Path, r.Header, asked)
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = io.WriteString(w, frame)
		w.Header().Set("Grpc-Status", status)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return socket
}

func framed(m string) string {
	return string([]byte{0, 0, 0, byte(len(m) >> 8), byte(len(m))}) + m
}

func TestPods(t *testing.T) {
	cpus := string(protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 1<<40))
	cpus += string(protowire.AppendFixed32(protowire.AppendTag(nil, 100, protowire.Fixed32Type), 7))
	cpus += string(protowire.AppendFixed64(protowire.AppendTag(nil, 101, protowire.Fixed64Type), 7))
	list := message(
		1, message(1, "train-0", 2, "ml", 3, message(1, "main")+devices("GPU-a", "GPU-b")+cpus, 3, message(1, "side")+devices("GPU-c")),
		1, message(1, "web", 2, "default", 3, message(1, "nginx")+cpus),
		9, "a field of tomorrow",
		1, message(1, "part", 2, "ml", 3, devices("GPU-d::3")),
	)
	got, err := Pods(t.Context(), answering(t, framed(list), "0"))
	want := []Pod{{"ml", "train-0", []string{"GPU-a", "GPU-b", "GPU-c"}}, {"ml", "part", []string{"GPU-d::3"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Pods(t.Context(), answering(t, framed(""), "0")); err != nil || len(got) > 0 {
		t.Errorf("no pods: %+v, %v", got, err)
	}
}

func TestBadAnswers(t *testing.T) {
	good := framed(message(1, message(1, "train", 2, "ml", 3, devices("GPU-a"))))
	for name, socket := range map[string]string{
		"an error":     answering(t, "", "12"),
		"no status":    answering(t, good, ""),
		"compressed":   answering(t, "\x01"+good[1:], "0"),
		"cut off":      answering(t, good[:len(good)-3], "0"),
		"no frame":     answering(t, "\x00", "0"),
		"another form": answering(t, framed("\x0a\xff\xff\xff\xff\x0f"), "0"),
		"no kubelet":   filepath.Join(t.TempDir(), "s"),
	} {
		if got, err := Pods(t.Context(), socket); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	silent := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", silent)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Pods(ctx, silent); err == nil {
		t.Error("a kubelet that does not answer")
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Errorf("its connection stays open: %v", err)
	}
}

func FuzzPods(f *testing.F) {
	f.Add(message(1, message(1, "train", 2, "ml", 3, devices("GPU-a"))))
	f.Add(strings.Repeat("\x0a", 100))
	f.Fuzz(func(t *testing.T, list string) {
		pods, err := podsOf([]byte(list))
		for _, p := range pods {
			if len(p.Devices) == 0 {
				t.Errorf("%+v, %v", p, err)
			}
		}
	})
}
