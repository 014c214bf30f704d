package regime

import "testing"

// The processes never use more than the GPU has. Some are refused memory, and every kind of job comes.
func TestSharedGPUIsWithinItsCapacity(t *testing.T) {
	s, again := NewShared(Seeded(3)), NewShared(Seeded(3))
	came, slow := map[string]bool{}, 0
	before := map[int]bool{}
	for second := range 5 * 86_400 {
		running, refused := s.Next()
		same, _ := again.Next()
		sum, now := 0.0, map[int]bool{}
		for i, p := range running {
			if same[i] != p {
				t.Fatalf("%d s: one seed makes two GPUs", second)
			}
			sum, came[p.Kind], now[p.PID] = sum+p.Used, true, true
			if p.Used < contextSize || p.Command == "" || p.Began > float64(second) {
				t.Fatalf("%d s: %+v", second, p)
			}
		}
		if sum > Capacity {
			t.Fatalf("%d s: %.1f GiB", second, sum/GiB)
		}
		if refused != nil {
			ended := 0
			for pid := range before {
				if !now[pid] {
					ended++
				}
			}
			if ended == 0 && sum < 0.5*Capacity {
				t.Fatalf("%d s: %+v with %.1f GiB in use, and nothing ended", second, refused, sum/GiB)
			}
			if refused.Grew > 0 {
				slow++
			}
		}
		before = now
	}
	if len(came) != len(kinds) || slow < 3 {
		t.Errorf("%d kinds came, %d slow fills", len(came), slow)
	}
}
