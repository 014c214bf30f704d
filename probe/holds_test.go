package probe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// holding returns a liar that answers holds with these devices, now.
func holding(devices string) func(net.Conn) {
	return liar(func(id uint64) string {
		return fmt.Sprintf(`{"id":%d,"ok":true,"time_ns":%d,"exact":true,"devices":[%s]}`, id, time.Now().UnixNano(), devices)
	})
}

func TestHoldsAreRead(t *testing.T) {
	client := dialImpostor(t, holding(`{"uuid":"GPU-1","allocated_bytes":5,"parts":[{"class":"parameters","bytes":4,"blocks":2},{"class":"unnamed","bytes":1}]}`))
	found, err := client.Holds(soon(t))
	if err != nil || !found.Exact || found.Moving || len(found.Devices) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if parts := found.Devices[0].Parts; len(parts) != 2 || parts[0].Bytes != 4 || parts[0].Blocks.Or(0) != 2 || parts[1].Class != Unnamed || parts[1].Blocks.Known() {
		t.Errorf("the parts are %+v", parts)
	}
}

func TestImpossibleHoldsAreRefused(t *testing.T) {
	part := func(class, fields string) string {
		return `{"uuid":"GPU-1","allocated_bytes":5,"parts":[{"class":"` + class + `",` + fields + `}]}`
	}
	for what, devices := range map[string]string{
		"too little":             part("parameters", `"bytes":4`),
		"too much":               part("parameters", `"bytes":6`),
		"an unknown class":       part("secrets", `"bytes":5`),
		"a class twice":          `{"uuid":"GPU-1","allocated_bytes":5,"parts":[{"class":"unnamed","bytes":4},{"class":"unnamed","bytes":1}]}`,
		"a negative part":        `{"uuid":"GPU-1","allocated_bytes":5,"parts":[{"class":"unnamed","bytes":-1},{"class":"buffers","bytes":6}]}`,
		"an exbibyte":            `{"uuid":"GPU-1","allocated_bytes":1152921504606846976,"parts":[{"class":"unnamed","bytes":1152921504606846976}]}`,
		"a negative count":       part("parameters", `"bytes":5,"blocks":-1`),
		"a fraction":             part("parameters", `"bytes":5.5`),
		"very many parts":        `{"uuid":"GPU-1","allocated_bytes":5,"parts":[` + strings.Repeat(`{},`, 3000) + `{}]}`,
		"a GPU twice":            part("unnamed", `"bytes":5`) + "," + part("unnamed", `"bytes":5`),
		"an index":               strings.Replace(part("unnamed", `"bytes":5`), "GPU-1", "0", 1),
		"very many GPUs":         strings.Repeat(`{"uuid":"GPU-1"},`, 100) + `{}`,
		"nothing where a GPU is": "null",
	} {
		client := dialImpostor(t, holding(devices))
		if found, err := client.Holds(soon(t)); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %+v, %v", what, found, err)
		}
	}
	client := dialImpostor(t, liar(func(id uint64) string { return fmt.Sprintf(`{"id":%d,"ok":true,"time_ns":1,"devices":[]}`, id) }))
	if _, err := client.Holds(soon(t)); !errors.Is(err, ErrBroken) {
		t.Errorf("of 1970: %v", err)
	}
}

func TestHoldsOfAnotherServer(t *testing.T) {
	refusal := new(Error)
	if _, err := dial(t, start(t, newPool())).Holds(soon(t)); !errors.As(err, &refusal) || refusal.Code != UnknownCommand {
		t.Errorf("%v", err)
	}
}

// dialImpostor connects to an impostor in a directory of its own.
func dialImpostor(t *testing.T, behave func(net.Conn)) *Client {
	t.Helper()
	path, err := os.MkdirTemp("", "holds-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) }) // a leftover is in the temporary directory
	impostor(t, path, behave)
	begin, err := ownStart()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := openDirectory(path, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	client, err := slowFinder().visit(dir, socketName(os.Getpid(), begin))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
