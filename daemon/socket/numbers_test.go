package socket

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// TestEveryFieldHasADecision: testdata/others.txt decides for each field and kind of event whether
// another user gets it unchanged, cleaned, or not at all; of a probe's report, which texts are shared.
func TestEveryFieldHasADecision(t *testing.T) {
	var got []string
	decide := func(what, decision string) {
		if what != "status.UID" { // zero, and thus as if not shared, if root runs the test
			got = append(got, what+" "+decision)
		}
	}

	var snap snapshot.Snapshot
	snapshottest.Fill(&snap)
	compare(reflect.ValueOf(snap), reflect.ValueOf(*numbers(&snap)), "snapshot", decide)

	event := snapshot.Event{}
	snapshottest.Fill(&event)
	event.Kind = snapshot.EventOutOfMemory
	compare(reflect.ValueOf(event), reflect.ValueOf(*sharedEvent(&event)), "event", decide)
	for _, kind := range eventKinds(t) {
		decision := "not"
		if sharedEvent(&snapshot.Event{Kind: kind}) != nil {
			decision = "shared"
		}
		decide("event of kind "+string(kind), decision)
	}

	status := Status{}
	snapshottest.Fill(&status)
	status.Reason = "recording: /home/alice: no such file"
	s := &Server{options: Options{Status: func() Status { return status }}}
	compare(reflect.ValueOf(status), reflect.ValueOf(*s.status(false)), "status", decide)

	answer := probe.Answer{}
	texts := snapshottest.Fill(&answer)
	if relayed := probe.Relay([]probe.Answer{answer}); len(relayed) != 0 {
		t.Error("a record is shared: only its event may be")
	}
	answer.Exited = nil
	relayed := probe.Relay([]probe.Answer{answer})
	for path, text := range texts {
		if strings.HasPrefix(path, "Exited.") {
			continue
		}
		decide("report."+path, presence(t, relayed, text))
	}

	slices.Sort(got)
	content, err := os.ReadFile("testdata/others.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(content)), "\n")
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("not decided so: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("decided, and not so: %s", line)
		}
	}
}

// presence says whether others get a text.
func presence(t *testing.T, of any, text string) string {
	t.Helper()
	encoded, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(encoded), text) {
		return "shared"
	}
	return "not, or cleaned"
}

// compare decides for each field of a value whether others get it. A field that they do not get is
// one line, whatever it contains.
func compare(whole, shared reflect.Value, path string, decide func(path, decision string)) {
	if whole.Kind() == reflect.Pointer && !shared.IsNil() {
		whole, shared = whole.Elem(), shared.Elem()
	}
	switch kind := whole.Kind(); {
	case shared.IsZero() || kind == reflect.Slice && shared.Len() == 0:
		decide(path, "not")
	case kind == reflect.Struct && whole.Type().Field(0).IsExported():
		for i := range whole.NumField() {
			compare(whole.Field(i), shared.Field(i), path+"."+whole.Type().Field(i).Name, decide)
		}
	case kind == reflect.Slice && whole.Type().Elem().Kind() == reflect.Struct:
		compare(whole.Index(0), shared.Index(0), path+"[]", decide)
	case reflect.DeepEqual(whole.Interface(), shared.Interface()):
		decide(path, "shared")
	default:
		decide(path, "cleaned")
	}
}

// eventKinds returns the constants of snapshot.EventKind.
func eventKinds(t *testing.T) (kinds []snapshot.EventKind) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../sampler/snapshot/history.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && fmt.Sprint(spec.Type) == "EventKind" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, snapshot.EventKind(value))
		}
		return true
	})
	if len(kinds) < 10 {
		t.Fatalf("%d kinds are found", len(kinds))
	}
	return kinds
}

// happened is a history of events.
type happened struct {
	snapshot.History
	events []snapshot.Event
	asked  *int
}

func (h happened) Events(limit int) []snapshot.Event {
	*h.asked = limit
	return h.events
}

// TestOthersGetSharedEventsOnly: the owner gets all events.
func TestOthersGetSharedEventsOnly(t *testing.T) {
	var asked int
	s := &Server{options: Options{History: happened{asked: &asked, events: []snapshot.Event{
		{Kind: snapshot.EventFlush, Name: "train.py"}, {Kind: snapshot.EventEnded, Name: "train.py", User: "bob"}, {Kind: snapshot.EventSignal},
	}}}}
	if all := s.events(5, true); len(all) != 3 || all[0].Name != "train.py" || all[1].Name != "train.py" || asked != 5 {
		t.Errorf("the owner gets %+v of %d", all, asked)
	}
	if shared := s.events(maxEvents+1, false); len(shared) != 1 || shared[0].Kind != "ended" || shared[0].User != "bob" || shared[0].Name != "" || asked != maxEvents {
		t.Errorf("others get %+v of %d", shared, asked)
	}
	for _, limit := range []int{-1, 0, maxEvents} {
		if s.events(limit, true); asked != maxEvents {
			t.Errorf("%d asks for %d", limit, asked)
		}
	}
}
