package probe

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

func TestSegmentsAreRead(t *testing.T) {
	client := dial(t, start(t, newPool()))
	found, err := client.Segments(soon(t), testUUID)
	if err != nil {
		t.Fatal(err)
	}
	want := DeviceSegments{UUID: testUUID, Left: 3, Segments: []Segment{{
		Address: 139637976727552, Size: 20 * quantity.MiB, Pool: "large", Stream: 7, Private: true,
		Blocks: []Block{{Size: 2 * quantity.MiB, State: BlockLive}, {Size: quantity.MiB, State: BlockPending}, {Size: 17 * quantity.MiB, State: BlockFragmented}},
	}}}
	if len(found.Devices) != 1 || !reflect.DeepEqual(found.Devices[0], want) {
		t.Errorf("the map is %+v", found)
	}
	if _, err := client.Stats(soon(t), false); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestSnapshotIsWrittenToFile(t *testing.T) {
	p := newPool()
	p.snapshot = strings.Repeat("0123456789abcdef", SnapshotSize/16+1) // more than a map may have
	client := dial(t, start(t, p))
	file := scratch(t)
	result, err := client.Snapshot(soon(t), SnapshotRequest{Format: "test"}, file)
	if err != nil || result.Format != "test/1" || result.Bytes != int64(len(p.snapshot)) || len(result.Notes) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if content, err := os.ReadFile(file.Name()); err != nil || string(content) != p.snapshot {
		t.Errorf("%d bytes are in the file, %v", len(content), err)
	}
	refusal := new(Error)
	if _, err := client.Snapshot(soon(t), SnapshotRequest{Format: PyTorchFormat}, scratch(t)); !errors.As(err, &refusal) || refusal.Code != Unsupported {
		t.Errorf("an unknown format: %v", err)
	}
	large := newPool()
	large.snapshot = testMap + strings.Repeat(" ", SnapshotSize)
	if _, err := dial(t, start(t, large)).Segments(soon(t)); !errors.As(err, &refusal) || refusal.Code != Internal {
		t.Errorf("a map that is too large: %v", err)
	}
}

func TestForeignSnapshotIsBounded(t *testing.T) {
	p := newPool()
	client := dial(t, start(t, p))
	client.uid++ // as if root read another user's probe
	file := scratch(t)
	result, err := client.Snapshot(soon(t), SnapshotRequest{Format: "test"}, file)
	if err != nil || result.Bytes != int64(len(p.snapshot)) {
		t.Fatalf("%+v, %v", result, err)
	}
	if content, err := os.ReadFile(file.Name()); err != nil || string(content) != p.snapshot {
		t.Errorf("%q is in the file, %v", content, err)
	}
	refusal := new(Error)
	if _, err := client.foreignSnapshot(soon(t), SnapshotRequest{Format: "test"}, scratch(t), 10); !errors.As(err, &refusal) || refusal.Code != Internal {
		t.Errorf("more than the limit: %v", err)
	}
}

func TestRecordingIsForTheOwnerAlone(t *testing.T) {
	wanted, refusal := SnapshotRequest{Format: "test", Record: &Recording{Seconds: 5}}, new(Error)
	answered := func(recorded *Recording, by uint32) (SnapshotResult, error) {
		p := newPool()
		p.recorded = recorded
		client := dial(t, start(t, p))
		client.uid += by
		return client.Snapshot(soon(t), wanted, scratch(t))
	}
	if _, err := answered(nil, 0); !errors.As(err, &refusal) || refusal.Code != Unsupported {
		t.Errorf("an older probe, which records nothing: %v", err)
	}
	recorded := Recording{Seconds: 4.5, Steps: 3}
	if result, err := answered(&recorded, 0); err != nil || *result.Recorded != recorded {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := answered(&Recording{Seconds: -1}, 0); !errors.Is(err, ErrBroken) {
		t.Errorf("an impossible time: %v", err)
	}
	if _, err := answered(&recorded, 1); !errors.As(err, &refusal) || refusal.Code != Forbidden { // as if root asked another user's probe
		t.Errorf("another user's process: %v", err)
	}
}

func scratch(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// hostileMaps are maps that must be refused, named for what is wrong with them.
var hostileMaps = map[string]string{
	"not an object":            `[]`,
	"another schema":           `{"schema":"vramscope/segments/2","time_ns":1,"devices":[]}`,
	"no time":                  `{"schema":"vramscope/segments/1","devices":[]}`,
	"not a UUID":               mapOf(`{"uuid":"0","segments":[]}`),
	"a GPU twice":              mapOf(`{"uuid":"GPU-1"},{"uuid":"GPU-1"}`),
	"negative left":            mapOf(`{"uuid":"GPU-1","left":-1}`),
	"numbers for segments":     mapOf(`{"uuid":"GPU-1","segments":[1,2,3]}`),
	"nothing for segments":     mapOf(`{"uuid":"GPU-1","segments":[null,null]}`),
	"nothing for a GPU":        mapOf(`null,null`),
	"an empty segment":         mapOf(`{"uuid":"GPU-1","segments":[{"address":1,"size":0,"blocks":[]}]}`),
	"blocks of too few bytes":  mapOf(`{"uuid":"GPU-1","segments":[{"address":1,"size":9,"blocks":[[8,"live"]]}]}`),
	"blocks of too many bytes": mapOf(`{"uuid":"GPU-1","segments":[{"address":1,"size":9,"blocks":[[8,"live"],[2,"live"]]}]}`),
	"a negative block":         mapOf(`{"uuid":"GPU-1","segments":[{"address":1,"size":9,"blocks":[[10,"live"],[-1,"live"]]}]}`),
	"an overflow":              mapOf(`{"uuid":"GPU-1","segments":[{"address":18446744073709551615,"size":9,"blocks":[[9,"live"]]}]}`),
	"a segment of an EiB":      mapOf(`{"uuid":"GPU-1","segments":[{"address":1,"size":1152921504606846976,"blocks":[[1152921504606846976,"live"]]}]}`),
	"an unknown state":         mapOf(`{"uuid":"GPU-1","segments":[{"address":1,"size":9,"blocks":[[9,"gone"]]}]}`),
	"a block of three fields":  mapOf(`{"uuid":"GPU-1","segments":[{"address":1,"size":9,"blocks":[[9,"live",1]]}]}`),
	"a block that is null":     mapOf(`{"uuid":"GPU-1","segments":[{"address":1,"size":9,"blocks":[null]}]}`),
	"a size with a fraction":   mapOf(`{"uuid":"GPU-1","segments":[{"address":1,"size":9,"blocks":[[9.5,"live"]]}]}`),
	"very many GPUs":           mapOf(strings.Repeat(`{"uuid":"GPU-1"},`, 1<<16) + `{}`),
	"very many blocks":         mapOf(`{"uuid":"GPU-1","segments":[{"size":1,"blocks":[` + strings.Repeat(`[1,"live"],`, MaxBlocks+MaxSegments) + `[]]}]}`),
	"deeply nested":            strings.Repeat(`{"devices":[`, 4000),
}

func mapOf(devices string) string {
	return `{"schema":"vramscope/segments/1","time_ns":1,"devices":[` + devices + `]}`
}

func TestImpossibleMapIsRefused(t *testing.T) {
	for what, content := range hostileMaps {
		if found, err := decodeSegments([]byte(content)); err == nil {
			t.Errorf("%s: accepted as %+v", what, found)
		} else if len(err.Error()) > 4*maxText {
			t.Errorf("%s: an error of %d bytes", what, len(err.Error()))
		}
	}
	p := newPool()
	p.snapshot = hostileMaps["blocks of too many bytes"]
	if _, err := dial(t, start(t, p)).Segments(soon(t)); !errors.Is(err, ErrBroken) {
		t.Errorf("over the socket: %v", err)
	}
}

func TestLargestMapFits(t *testing.T) {
	d := DeviceSegments{UUID: testUUID}
	for i := range MaxSegments {
		s := Segment{Address: uint64(1<<47 - (i+1)<<20), Size: quantity.MiB, Pool: "small", Stream: 1 << 40, Private: true, Expandable: true}
		for range MaxBlocks / MaxSegments {
			s.Blocks = append(s.Blocks, Block{Size: quantity.MiB * MaxSegments / MaxBlocks, State: BlockPending})
		}
		d.Segments = append(d.Segments, s)
	}
	content, err := json.Marshal(Segments{Schema: SegmentsSchema, TimeNS: time.Now().UnixNano(), Devices: []DeviceSegments{d}})
	if err != nil || len(content) > SnapshotSize {
		t.Fatalf("%d bytes, %v", len(content), err)
	}
	found, err := decodeSegments(content)
	if err != nil {
		t.Fatal(err)
	}
	if first := found.Devices[0].Segments[0].Address; first != 1<<47-MaxSegments<<20 {
		t.Errorf("the first segment is at %#x: not sorted", first)
	}
}

func FuzzSegments(f *testing.F) {
	f.Add([]byte(testMap))
	for _, content := range hostileMaps {
		if len(content) < 1<<10 {
			f.Add([]byte(content))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		found, err := decodeSegments(content)
		if err != nil {
			return
		}
		if err := found.check(); err != nil {
			t.Fatalf("accepted although %v", err)
		}
		again, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		same, err := decodeSegments(again)
		if err != nil {
			t.Fatalf("refused after encoding: %v\n%s", err, again)
		}
		if third, err := json.Marshal(same); err != nil || string(third) != string(again) {
			t.Errorf("%s became %s, %v", again, third, err)
		}
	})
}
