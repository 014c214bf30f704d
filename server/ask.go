package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/bounded"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// asker sends requests to one server. The key is sent in a header, and no error message contains the whole key.
type asker struct {
	base  string // "http://127.0.0.1:8000"
	key   string
	paths []step // for the kind Paths: the requests that release and resume

	simulated func(path string) ([]byte, error) // answers in place of a server; nil: the server is real
}

// client uses no proxy, follows no redirect and keeps no connection.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

const longestAnswer = 4 << 20 // in bytes; the rest of a body is not read

// statusError is an answer that is not 2xx.
type statusError struct {
	code int
	said string
}

func (e *statusError) Error() string { return strconv.Itoa(e.code) + " " + e.said }

// isStatus reports whether err is a statusError with one of codes or, without codes, any statusError.
func isStatus(err error, codes ...int) bool {
	status, ok := errors.AsType[*statusError](err)
	return ok && (len(codes) == 0 || slices.Contains(codes, status.code))
}

// get requests path and decodes the answer, which must be JSON.
func (a *asker) get(ctx context.Context, path string, into any) error {
	content, err := a.ask(ctx, http.MethodGet, step{path: path})
	if err == nil && json.Unmarshal(content, into) != nil {
		err = fmt.Errorf("GET %s: not the JSON of such a server", path)
	}
	return err
}

// ask sends one request and returns the body of the answer.
func (a *asker) ask(ctx context.Context, method string, s step) (content []byte, err error) {
	if a.simulated != nil {
		return a.simulated(s.path)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s %s: %w", method, s.path, err)
		}
	}()
	request, err := http.NewRequestWithContext(ctx, method, a.base+s.path, strings.NewReader(s.send))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if a.key != "" {
		request.Header.Set("Authorization", "Bearer "+a.key)
	}
	answer, err := client.Do(request)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, errors.New("no answer in time")
	case err != nil:
		return nil, errors.Unwrap(err) // without the URL
	}
	defer func() { _ = answer.Body.Close() }() // the body has been read
	if content, err = bounded.First(answer.Body, longestAnswer); err != nil {
		return nil, fmt.Errorf("half an answer: %w", err)
	}
	said := text.Clean(string(content))
	switch refused := answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden; {
	case answer.StatusCode/100 == 2:
		return content, nil
	case refused && a.key == "":
		said = "it wants a key: name key_file or key_env in a [[server]] of the configuration"
	case refused:
		said = "it does not take the key"
	case a.key != "" && strings.Contains(said, a.key):
		said = ""
	}
	return nil, &statusError{answer.StatusCode, text.Cut(said, 200, "…")}
}

// requests returns how many requests a server's metrics report.
func (a *asker) requests(ctx context.Context, path string) snapshot.Int {
	metrics, _ := a.ask(ctx, http.MethodGet, step{path: path}) // without metrics the number is unknown
	return requestsIn(sums(metrics))
}

// requestsIn returns how many requests run and wait, unknown without the metrics of vLLM or llama.cpp.
func requestsIn(values map[string]float64) snapshot.Int {
	for _, names := range [][2]string{{"vllm:num_requests_running", "vllm:num_requests_waiting"}, {"llamacpp:requests_processing", "llamacpp:requests_deferred"}} {
		running, ok := values[names[0]]
		if waiting, also := values[names[1]]; ok && also {
			if sum := running + waiting; sum < 1<<31 { // false for NaN
				return quantity.From(int(sum), quantity.Probe)
			}
		}
	}
	return snapshot.Int{}
}

// sums adds up each metric of Prometheus's text format over all its labels. No metric that is read here can be negative, so a
// negative value makes the sum NaN.
func sums(metrics []byte) map[string]float64 {
	sum := map[string]float64{}
	for line := range strings.Lines(string(metrics)) {
		name, _, _ := strings.Cut(strings.ReplaceAll(line, "{", " "), " ")
		if value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64); err == nil {
			if value < 0 {
				value = math.NaN()
			}
			sum[name] += value
		}
	}
	return sum
}
