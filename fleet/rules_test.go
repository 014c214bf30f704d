package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// TestRulesAreUsedWhereEveryBoxHasThem: Prometheus' own evaluator answers the query.
func TestRulesAreUsedWhereEveryBoxHasThem(t *testing.T) {
	tool := needs.Tool(t, "promtool")
	tests := "evaluation_interval: 15s\ntests:\n"
	for _, c := range []struct {
		name, used, recorded string // of two boxes; _: no sample
		boxes                int    // that the query counts, 0: the rules are not used
	}{
		{"both", "1x39 1x39", "1x39 1x39", 2},
		{"none", "1x39 1x39", "_x39 _x39", 0},
		{"one", "1x39 1x39", "1x39 _x39", 0},
		{"the other has answered for a minute", "1x39 _x35,1x3", "1x39 _x39", 1},
		{"one has ended", "1x39 1x3,_x35", "1x39 1x3,_x35", 1},
		{"the rules have ended", "1x39 1x39", "1x3,_x35 1x3,_x35", 0},
	} {
		tests += "- name: " + c.name + "\n  interval: 15s\n  input_series:\n"
		for name, values := range map[string]string{`vramscope_gpu_memory_used_bytes{gpu="0",`: c.used, recordedShare + "{": c.recorded} {
			for i, v := range strings.Fields(values) {
				v = strings.NewReplacer(",", " ", "1x", "1+0x").Replace(v)
				tests += fmt.Sprintf("  - {series: '%sinstance=\"box%d\"}', values: '%s'}\n", name, i, v)
			}
		}
		tests += fmt.Sprintf("  promql_expr_test:\n  - expr: '%s'\n    eval_time: 590s\n", hasRules())
		if c.boxes > 0 {
			tests += fmt.Sprintf("    exp_samples: [{labels: '{}', value: %d}]\n", c.boxes)
		}
	}
	path := filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(path, []byte(tests), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, tests)
	}
}
