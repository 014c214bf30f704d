package cli

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"vramscope/internal/fakedriver"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// conforms validates a document against one of the files in schema/.
func conforms(t *testing.T, name, what string, document []byte) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(filepath.Join("..", "schema", name+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatalf("%s: %v: %s", what, err, document)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func TestSnapshotsConformToTheSchema(t *testing.T) {
	for name, snap := range map[string]*snapshot.Snapshot{
		"drawn": snapshottest.DrawnBox(), "day one": snapshottest.DayOne(), "no driver": snapshottest.NoDriver(),
		"one sample": snapshottest.OneSample(), "empty": {Driver: snapshot.Driver{State: snapshot.DriverStarting}},
	} {
		out, err := schema.Encode(schema.Of(snap))
		if err != nil {
			t.Fatal(err)
		}
		conforms(t, "once", name, out)
	}
}

func TestTheSchemaRefusesOtherDocuments(t *testing.T) {
	out, err := schema.Encode(schema.Of(snapshottest.DrawnBox()))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "schema", "once.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for was, is := range map[string]string{
		`"fan_percent": null,`: ``, `"host": "`: `"guest": "`, `"state": "ok"`: `"state": "fine"`, `"mig": false`: `"mig": 0`,
	} {
		other := strings.Replace(string(out), was, is, 1)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(other))
		if err != nil || other == string(out) {
			t.Fatalf("%q is not there: %v", was, err)
		}
		if schema.Validate(value) == nil {
			t.Errorf("the schema accepts %q for %q", is, was)
		}
	}
}

func TestCommandsConformToTheSchemas(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(trace, []byte("series_id,t_seconds,used_bytes\n"+strings.Repeat("a,1,5\n", 3)+"b,1,x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, name := range map[string]string{
		"once --demo --format json": "once", "once --demo --watch 1s --format json": "once",
		"flush 2963112 --demo --yes --format json": "flush", "flush 2963112 --demo --dry-run --format json": "flush",
		"advise --demo --format json":                "advise",
		"headroom --need 20GiB --demo --format json": "headroom", "headroom --need 20GiB --for 10m --demo --format json": "headroom",
		"backtest " + trace + " --format json": "backtest",
	} {
		out, _ := vramscope(t, []string{"XDG_CONFIG_HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir()}, strings.Fields(command)...)
		conforms(t, name, command, out)
	}
}

func TestTheFakeDriverConformsToTheSchema(t *testing.T) {
	if !haveCgo() {
		t.Skip("built without cgo: no driver can be read")
	}
	library := fakedriver.Build(t, fakedriver.Current)
	path := filepath.Join(t.TempDir(), "state")
	state := fakedriver.Mixed()
	state.GPUs[0].Fan, state.GPUs[0].PState = 42, 3
	state.MustWrite(t, path)
	count := filepath.Join(t.TempDir(), "count")
	environment := append(fakedriver.Environment(library, path), "XDG_CONFIG_HOME="+t.TempDir(), "VRAMSCOPE_FAKE_COUNT="+count)
	calls := func() int { // since the last call of calls
		raw, err := os.ReadFile(count)
		if err != nil || len(raw) != 8 || os.Remove(count) != nil {
			t.Fatalf("%d bytes: %v", len(raw), err)
		}
		return int(binary.NativeEndian.Uint64(raw))
	}
	out, _ := vramscope(t, environment, "once", "--format", "json")
	whole := calls()
	vramscope(t, environment, "once")
	if table := calls(); table > whole*3/4 {
		t.Errorf("a table asks %d times, a document %d times", table, whole)
	}
	conforms(t, "once", "the fake driver", out)
	for _, want := range []string{`"fan_percent": 42`, `"pcie_generation_max": 5`, `"nvlink_active_links": 18`, `"row_remapping_pending": 0`, `"persistence_mode": 1`, `"performance_state": 3`, `"pcie_rx_bytes_per_second": 340000000`, `"pcie_tx_bytes_per_second": 120000000`} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}
