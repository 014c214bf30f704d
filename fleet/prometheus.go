package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"vramscope/internal/panics"
	"vramscope/internal/text"
	"vramscope/metric"
)

// Prometheus is a Source: an engine with Prometheus' HTTP API. Times are by the engine's clock.
type Prometheus struct {
	api *api
	now func() time.Time

	mu     sync.Mutex
	found  asking    // exporters and jobs
	looked time.Time // when found was set
	clock  time.Time // the engine's clock at its last answer
	warned []string  // the engine's warnings since the last look
}

// NewPrometheus makes a source without contacting the engine. The name is its URL without a
// password. httpConfig is a file in Prometheus' own form (http_config), or "".
func NewPrometheus(url, httpConfig string) (source *Prometheus, name string, err error) {
	p := &Prometheus{now: time.Now}
	p.api, name, err = connect(url, httpConfig)
	return p, name, err
}

// discoverEvery is how often exporters and jobs are searched for, and discoverSince how far back: an
// exporter that has been down for longer is not found.
const (
	discoverEvery = time.Minute
	discoverSince = 6 * time.Hour
)

// discover finds the exporters, and the jobs that scrape them.
func (p *Prometheus) discover(ctx context.Context, q Query) (*asking, error) {
	p.mu.Lock()
	found, fresh := p.found, !p.looked.IsZero() && p.now().Sub(p.looked) < discoverEvery
	p.mu.Unlock()
	if !fresh {
		var err error
		if found, err = p.search(ctx); err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.found, p.looked = found, p.now()
		p.mu.Unlock()
	}
	found.query = q
	boxes, err := p.ask(ctx, found.instances(), time.Time{})
	if err == nil && len(q.Filter.named()) > 0 && len(boxes) <= fewest {
		found.within = oneOf("instance", instancesOf(boxes))
	}
	return &found, err
}

// fewest is the most boxes or GPUs that queries name, so that the engine reads no others. Prometheus finds
// up to 256 alternatives by its index.
const fewest = 250

// ErrNoGPUs reports that an engine has no series of GPUs.
var ErrNoGPUs = fmt.Errorf("it has no series of GPUs (%s, %s, %s): does it scrape vramscope daemon --serve?",
	exporters[0].used, exporters[1].used, exporters[2].used)

func (p *Prometheus) search(ctx context.Context) (found asking, err error) {
	var names []string
	for _, e := range exporters {
		names = append(names, e.used)
	}
	// A box whose GPUs do not answer has only the host's series.
	match := "{" + oneOf("__name__", append(names, exported(metric.HostInfo))) + "}"
	since := p.now().Add(-discoverSince)
	have, err := p.api.labelValues(ctx, "__name__", match, since)
	if err == nil && len(have) == 0 { // the engine's clock may be behind ours by more than discoverSince
		since = time.Time{}
		have, err = p.api.labelValues(ctx, "__name__", match, since)
	}
	if err != nil {
		return found, err
	}
	for _, e := range exporters {
		if slices.Contains(have, e.used) || e.people && slices.Contains(have, exported(metric.HostInfo)) {
			found.exporters = append(found.exporters, e)
		}
	}
	if len(found.exporters) == 0 {
		return found, ErrNoGPUs
	}
	if found.jobs, err = p.api.labelValues(ctx, "job", match, since); err != nil {
		return found, err
	}
	answers, failed := p.askAll(ctx, map[field]string{Recorded: hasRules(), used: "count without (user) (user:" + recordedOfUsers[used] + ")"})
	if err := cmp.Or(failed[Recorded], failed[used]); err != nil {
		return found, err
	}
	found.recorded = len(answers[Recorded]) > 0
	// An engine that asks other engines adds labels to these series, which may then count a GPU twice.
	found.summed = found.recorded && len(answers[used]) == 1 && len(answers[used][0].labels) == 0
	simulated, err := p.api.labelValues(ctx, "simulated", match, since)
	found.simulated = slices.Contains(simulated, "true")
	return found, err
}

// hasRules returns a query that has a result if the rules of contrib/prometheus/rules.yml are evaluated
// for every box: each box that has answered for two minutes has a recorded share. The names of series
// do not show that, because they remain for hours after the series ended.
func hasRules() string {
	used := exportedName(metric.Used) + `{gpu="0"}`
	return fmt.Sprintf("count(%[1]s) unless on () count(%[2]s and %[2]s offset 2m unless on (instance) %[1]s)", recordedShare, used)
}

// series is one sample of a vector.
type series struct {
	labels map[string]string
	value  float64
}

func (s *series) label(name string) string { return s.labels[name] }

func instancesOf(all []series) []string {
	boxes := make([]string, len(all))
	for i := range all {
		boxes[i] = all[i].label("instance")
	}
	return boxes
}

// ask runs a query at a moment, or now.
func (p *Prometheus) ask(ctx context.Context, query string, at time.Time) ([]series, error) {
	if query == "" {
		return nil, nil
	}
	vector, warnings, err := p.api.query(ctx, query, at)
	if err != nil {
		return nil, err
	}
	p.warn(warnings)
	out := make([]series, len(vector.Result))
	for i, s := range vector.Result {
		out[i] = series{s.Metric, s.Value.value}
	}
	if len(out) > 0 && at.IsZero() {
		p.mu.Lock()
		p.clock = vector.Result[0].Value.at
		p.mu.Unlock()
	}
	return out, nil
}

// mostWarnings limits the different warnings of a look.
const mostWarnings = 5

// warn keeps an engine's warnings, for example about other engines that do not answer.
func (p *Prometheus) warn(warnings []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range warnings {
		if w = text.Cut(text.Clean(w), 200, "…"); len(p.warned) < mostWarnings && !slices.Contains(p.warned, w) {
			p.warned = append(p.warned, w)
		}
	}
}

// warnings returns and clears the warnings.
func (p *Prometheus) warnings() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.warned
	p.warned = nil
	return all
}

func (p *Prometheus) engineTime() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock
}

// askAll runs queries concurrently. A failed query has an error under its name, and no result.
func (p *Prometheus) askAll(ctx context.Context, queries map[field]string) (map[field][]series, map[field]error) {
	var (
		mu      sync.Mutex
		running sync.WaitGroup
		answers = map[field][]series{}
		failed  = map[field]error{}
		caught  *panics.Caught
	)
	for name, query := range queries {
		running.Go(func() {
			defer func() {
				if c := panics.Catch(recover()); c != nil {
					mu.Lock()
					defer mu.Unlock()
					caught = c
				}
			}()
			got, err := p.ask(ctx, query, time.Time{})
			mu.Lock()
			defer mu.Unlock()
			if answers[name] = got; err != nil {
				failed[name] = err
			}
		})
	}
	running.Wait()
	caught.Again()
	return answers, failed
}

// problemsOf returns each different error once, with the names of its queries.
func problemsOf(failed map[field]error) []string {
	by := map[string][]string{}
	for name, err := range failed {
		by[err.Error()] = append(by[err.Error()], string(name))
	}
	var out []string
	for message, names := range by {
		slices.Sort(names)
		out = append(out, strings.Join(names, ", ")+": "+text.Clean(message))
	}
	slices.Sort(out)
	return out
}
