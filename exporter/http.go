package exporter

import (
	"bytes"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// mostScrapes is how many scrapes are made at the same time: enough for two Prometheus
// servers and a person, too few to keep the machine busy. mostAnswers is how many may be
// in memory, of 300 kB each, until clients have read them.
const mostScrapes, mostAnswers = 4, 32

func (e *Exporter) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(e)
	return inMemory(promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: mostScrapes, CoalesceGather: true,
		ErrorHandling:       promhttp.ContinueOnError, // a series that cannot be exported takes no other with it
		OfferedCompressions: []promhttp.Compression{promhttp.Identity, promhttp.Gzip},
	}))
}

// inMemory has answers made in memory first: a client that reads slowly keeps no other
// from a scrape.
func inMemory(handler http.Handler) http.Handler {
	places := make(chan struct{}, mostAnswers)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			http.Error(w, "too many clients read slowly", http.StatusServiceUnavailable)
			return
		}
		made := &answer{ResponseWriter: w, code: http.StatusOK}
		handler.ServeHTTP(made, r)
		w.WriteHeader(made.code)
		_, _ = w.Write(made.body.Bytes()) // who goes away asks again
	})
}

// answer is one that is not sent yet, but for its header.
type answer struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) { a.code = code }

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// landing is for a person who opens the address in a browser.
func landing(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("<!doctype html><title>vramscope</title><h1>vramscope</h1><p><a href=\"/metrics\">metrics</a> <a href=\"/healthz\">healthz</a>\n"))
}

// healthz is for a load balancer or a liveness probe: whether there are new samples.
func (e *Exporter) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	switch snap, fresh := e.latest(); {
	case fresh:
		_, _ = w.Write([]byte("ok\n"))
	case snap == nil:
		http.Error(w, "no sample yet", http.StatusServiceUnavailable)
	default:
		http.Error(w, "no sample since "+snap.Time.UTC().Format("2006-01-02T15:04:05Z"), http.StatusServiceUnavailable)
	}
}

// snapshotJSON writes the document of once --format json, command lines without arguments.
func (e *Exporter) snapshotJSON(w http.ResponseWriter, _ *http.Request) {
	snap, fresh := e.latest()
	if !fresh {
		http.Error(w, "no new sample", http.StatusServiceUnavailable)
		return
	}
	encoded, err := schema.Encode(schema.Of(withoutArguments(snap)))
	if err != nil {
		http.Error(w, "the snapshot cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded)
}

// withoutArguments is the snapshot with programs in place of command lines, which may
// hold secrets, and without the path of the audit log.
func withoutArguments(snap *snapshot.Snapshot) *snapshot.Snapshot {
	out := *snap
	out.Rows = append([]snapshot.Process{}, snap.Rows...)
	for i := range out.Rows {
		out.Rows[i].Command = program(out.Rows[i].Command)
	}
	out.Holders = programsOf(snap.Holders)
	out.GPUs = append([]snapshot.GPU{}, snap.GPUs...)
	for i := range out.GPUs {
		out.GPUs[i].Holders = programsOf(out.GPUs[i].Holders)
	}
	if snap.Guard != nil && snap.Guard.Cannot != "" {
		guard := *snap.Guard
		guard.Cannot = "see the daemon's log" // the reason names a path
		out.Guard = &guard
	}
	return &out
}

func programsOf(holders []snapshot.Holder) []snapshot.Holder {
	out := append([]snapshot.Holder{}, holders...)
	for i := range out {
		out[i].Command = program(out[i].Command)
	}
	return out
}

func program(command []string) []string {
	if len(command) == 0 {
		return nil
	}
	return []string{process.Program(command)}
}
