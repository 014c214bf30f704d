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

// TestRulesAreUsedWhereEveryBoxHasThem evaluates the query of hasRules with promtool.
func TestRulesAreUsedWhereEveryBoxHasThem(t *testing.T) {
	tool := needs.Tool(t, "promtool")
	tests := "evaluation_interval: 15s\ntests:\n"
	for _, c := range []struct {
		name, used, recorded string // the samples of two boxes; _ means none
		boxes                int    // the result of the query; 0 for none
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
	evaluate(t, tool, tests)
}

// TestIdleIsWhatTheFirstExporterSays: if a GPU has two exporters, the first one counts, even if only the
// second reports that nothing runs.
func TestIdleIsWhatTheFirstExporterSays(t *testing.T) {
	tool := needs.Tool(t, "promtool")
	a := &asking{exporters: exporters[:2]}
	evaluate(t, tool, fmt.Sprintf(`evaluation_interval: 15s
tests:
- interval: 15s
  input_series:
  - {series: 'vramscope_gpu_memory_used_bytes{instance="a:9841",uuid="GPU-a"}', values: '4294967296x39'}
  - {series: 'vramscope_gpu_utilization_ratio{instance="a:9841",uuid="GPU-a"}', values: '1x35 0x3'}
  - {series: 'DCGM_FI_DEV_FB_USED{instance="a:9400",UUID="GPU-a"}', values: '4096x39'}
  - {series: 'DCGM_FI_DEV_GPU_UTIL{instance="a:9400",UUID="GPU-a"}', values: '100x35 0x3'}
  - {series: 'DCGM_FI_DEV_FB_USED{instance="b:9400",UUID="GPU-b"}', values: '4096x39'}
  - {series: 'DCGM_FI_DEV_GPU_UTIL{instance="b:9400",UUID="GPU-b"}', values: '100x35 0x3'}
  promql_expr_test:
  - expr: '%s'
    eval_time: 590s
    exp_samples: [{labels: '{instance="b:9400",uuid="GPU-b"}', value: 4294967296}]
`, a.idle()))
}

// evaluate runs promtool's rule tests.
func evaluate(t *testing.T, tool, tests string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(path, []byte(tests), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, tests)
	}
}
