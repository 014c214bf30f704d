package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/text"
)

// Limits on the queries to an engine.
const (
	queryTimeout = 10 * time.Second
	maxAnswer    = 16 << 20 // a box of 16 GPUs and 64 processes on each is 3 MB
	maxObjects   = 200_000  // JSON objects in an answer: a series has two in 300 bytes, and an empty object takes 250 bytes of memory
	maxQueries   = 4        // at the same time: an engine usually runs 20 for all its clients
)

// api is the part of Prometheus' HTTP API that a fleet needs.
// https://prometheus.io/docs/prometheus/latest/querying/api/
type api struct {
	client *http.Client
	config *httpConfig
	base   *url.URL
	slots  chan struct{} // limits the queries at the same time
}

// connect makes the client of an engine, and returns the engine's name. It contacts no server.
func connect(address, httpConfig string) (*api, string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", fmt.Errorf("%q is no URL of a Prometheus: want http://HOST:9090", text.Clean(address[strings.LastIndex(address, "@")+1:])) // without a password
	}
	config, err := readHTTPConfig(httpConfig)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", httpConfig, err)
	}
	client, err := config.client()
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", httpConfig, err)
	}
	return &api{client, config, u.JoinPath("api", "v1"), make(chan struct{}, maxQueries)}, u.Redacted(), nil
}

type answer[T any] struct {
	Status    string   `json:"status"`
	Data      T        `json:"data"`
	ErrorType string   `json:"errorType"`
	Error     string   `json:"error"`
	Warnings  []string `json:"warnings"`
}

// refusal is an answer without data, from an engine or from a proxy before it.
type refusal struct {
	code       int    // the HTTP status
	kind, text string // the engine's own words; kind is "" if the answer is not from a Prometheus
}

func (r *refusal) Error() string {
	if r.kind == "" {
		return fmt.Sprintf("it answers %d %s", r.code, http.StatusText(r.code))
	}
	return r.kind + ": " + r.text
}

// result is a vector or a matrix.
type result struct {
	ResultType string `json:"resultType"`
	Result     []struct {
		Metric map[string]string `json:"metric"`
		Value  sample            `json:"value"`
		Values []sample          `json:"values"`
	} `json:"result"`
}

type sample struct {
	at    time.Time
	value float64
}

// maxSeconds is the end of the year 9999, after which RFC 3339 has no times.
const maxSeconds = 253402300799

// UnmarshalJSON reads [1795373837.123,"0.5"].
func (s *sample) UnmarshalJSON(content []byte) error {
	at, value, _ := strings.Cut(strings.Trim(string(content), "[] "), ",")
	seconds, err := strconv.ParseFloat(strings.TrimSpace(at), 64)
	if err == nil && math.Abs(seconds) > maxSeconds {
		err = fmt.Errorf("no such time: %s", at)
	}
	if err != nil {
		return err
	}
	s.at = time.UnixMilli(int64(seconds * 1000))
	s.value, err = strconv.ParseFloat(strings.Trim(value, "\" "), 64)
	return err
}

// query asks for a vector at a moment; the zero time is now.
func (a *api) query(ctx context.Context, query string, at time.Time) (*result, []string, error) {
	form := url.Values{"query": {query}, "timeout": {queryTimeout.String()}}
	setTime(form, "time", at)
	return a.evaluate(ctx, "query", "vector", form)
}

// queryRange asks for a matrix.
func (a *api) queryRange(ctx context.Context, query string, from, to time.Time, step time.Duration) (*result, error) {
	form := url.Values{"query": {query}, "timeout": {queryTimeout.String()}, "step": {seconds(step.Seconds())}}
	setTime(form, "start", from)
	setTime(form, "end", to)
	matrix, _, err := a.evaluate(ctx, "query_range", "matrix", form)
	return matrix, err
}

func (a *api) evaluate(ctx context.Context, path, want string, form url.Values) (*result, []string, error) {
	got, err := ask[result](ctx, a, http.MethodPost, form, path)
	if err == nil && got.Data.ResultType != want {
		err = fmt.Errorf("it answers with a %s, not with a %s", text.Clean(got.Data.ResultType), want)
	}
	return &got.Data, got.Warnings, err
}

// labelValues returns the values of a label in the series that match, since a moment.
func (a *api) labelValues(ctx context.Context, label, match string, since time.Time) ([]string, error) {
	form := url.Values{"match[]": {match}}
	setTime(form, "start", since)
	got, err := ask[[]string](ctx, a, http.MethodGet, form, "label", label, "values")
	return got.Data, err
}

func setTime(form url.Values, name string, at time.Time) {
	if !at.IsZero() {
		form.Set(name, seconds(float64(at.UnixNano())/1e9))
	}
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// ask waits for a slot, and then calls the engine.
func ask[T any](ctx context.Context, a *api, method string, form url.Values, path ...string) (answer[T], error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return answer[T]{}, explain(ctx.Err())
	}
	got, err := call[T](ctx, a, method, form, path...)
	return got, explain(err)
}

// call sends a request, by GET if the engine refuses POST.
func call[T any](ctx context.Context, a *api, method string, form url.Values, path ...string) (got answer[T], err error) {
	u, body := a.base.JoinPath(path...), form.Encode()
	if method == http.MethodGet {
		u.RawQuery, body = body, ""
	}
	r, err := a.config.request(ctx, method, u.String(), body)
	if err != nil {
		return got, err
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return got, err
	}
	defer func() { _ = resp.Body.Close() }()
	if code := resp.StatusCode; method == http.MethodPost && (code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented) {
		return call[T](ctx, a, http.MethodGet, form, path...)
	}
	content, err := bounded.First(resp.Body, maxAnswer+1)
	switch {
	case err != nil:
	case len(content) > maxAnswer:
		err = fmt.Errorf("the answer is larger than %d MiB: narrow the filter", maxAnswer>>20)
	case bytes.Count(content, []byte("{")) > maxObjects:
		err = fmt.Errorf("the answer has more than %d objects: narrow the filter", maxObjects)
	}
	if err != nil {
		return got, err
	}
	if err := json.Unmarshal(content, &got); err != nil || got.Status == "" {
		return got, &refusal{code: resp.StatusCode, text: string(content)}
	}
	if got.Status != "success" {
		return got, &refusal{resp.StatusCode, got.ErrorType, got.Error}
	}
	return got, nil
}
