package exporter

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// mostScrapes limits the scrapes at the same time: enough for two Prometheus servers and a person, too few to keep
// the machine busy. mostAnswers limits the answers, of about 300 kB each, that wait in memory for slow clients.
const mostScrapes, mostAnswers = 4, 32

func (e *Exporter) metrics() http.HandlerFunc {
	scrapes := make(chan struct{}, mostScrapes)
	return inMemory(func(w http.ResponseWriter, r *http.Request) {
		if !enter(scrapes) {
			http.Error(w, "too many scrapes at the same time", http.StatusServiceUnavailable)
			return
		}
		body := func() []byte {
			defer func() { <-scrapes }()
			return e.answer(r.Header, w.Header())
		}()
		_, _ = w.Write(body) // a client that has gone asks again
	})
}

// inMemory refuses a request while mostAnswers answers of next are in memory.
func inMemory(next http.HandlerFunc) http.HandlerFunc {
	answers := make(chan struct{}, mostAnswers)
	return func(w http.ResponseWriter, r *http.Request) {
		if !enter(answers) {
			http.Error(w, "too many clients read slowly", http.StatusServiceUnavailable)
			return
		}
		defer func() { <-answers }()
		next(w, r)
	}
}

// answer returns all series in the format that the client prefers, and sets the answer's headers.
func (e *Exporter) answer(request, header http.Header) []byte {
	format := formatFor(request.Values("Accept"))
	header.Set("Content-Type", format)
	header.Set("Vary", "Accept, Accept-Encoding")
	body := e.gather().text(format != classic)
	if gzipped(request.Values("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		var packed bytes.Buffer // writing to it never fails
		packer := gzip.NewWriter(&packed)
		_, _ = packer.Write(body)
		_ = packer.Close()
		body = packed.Bytes()
	}
	return body
}

// enter takes a place. It returns false if none is free.
func enter(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

const (
	classic     = "text/plain; version=0.0.4; charset=utf-8"
	openMetrics = "application/openmetrics-text"
)

// formatFor returns the media type that a client prefers.
func formatFor(accept []string) string {
	for _, o := range offersOf(accept) {
		switch version := o.parameters["version"]; {
		case o.kind == openMetrics && (version == "" || version == "1.0.0" || version == "0.0.1"):
			return openMetrics + "; version=" + cmp.Or(version, "1.0.0") + "; charset=utf-8"
		case o.kind == "text/plain":
			return classic
		}
	}
	return classic
}

// gzipped reports whether a client prefers gzip to no compression.
func gzipped(accept []string) bool {
	offers := offersOf(accept)
	i := slices.IndexFunc(offers, func(o offer) bool { return o.kind == "gzip" || o.kind == "identity" || o.kind == "*" })
	return i >= 0 && offers[i].kind == "gzip"
}

// offer is a media type or an encoding that a client accepts.
type offer struct {
	kind       string
	parameters map[string]string
	quality    float64
}

// offersOf returns the offers of an Accept or Accept-Encoding header, best first.
func offersOf(header []string) (all []offer) {
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		kind, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		quality := 1.0
		if q, given := parameters["q"]; given {
			quality, _ = strconv.ParseFloat(q, 64) // 0: the client refuses it
		}
		if quality > 0 {
			all = append(all, offer{kind, parameters, quality})
		}
	}
	sorted.Stable(all, func(a, b offer) int { return cmp.Compare(b.quality, a.quality) })
	return all
}

func landing(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("<!doctype html><title>vramscope</title><h1>vramscope</h1><p><a href=\"/metrics\">metrics</a> <a href=\"/healthz\">healthz</a>\n"))
}

// healthz reports whether there are new samples, for a load balancer or a liveness probe.
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

// snapshotJSON serves the document of once --format json, but without the arguments of command lines.
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

// withoutArguments returns the snapshot with programs in place of command lines, which may
// hold secrets, and without the path of the audit log.
func withoutArguments(snap *snapshot.Snapshot) *snapshot.Snapshot {
	out := *snap
	out.Rows = append([]snapshot.Process{}, snap.Rows...)
	for i := range out.Rows {
		out.Rows[i].Command = program(out.Rows[i].Command)
	}
	out.Holders = schema.List(snap.Holders, withProgram)
	out.GPUs = append([]snapshot.GPU{}, snap.GPUs...)
	for i := range out.GPUs {
		out.GPUs[i].Holders = schema.List(out.GPUs[i].Holders, withProgram)
	}
	if snap.Guard != nil && snap.Guard.Cannot != "" {
		guard := *snap.Guard
		guard.Cannot = "see the daemon's log" // the reason names a path
		out.Guard = &guard
	}
	return &out
}

func withProgram(h *snapshot.Holder) snapshot.Holder {
	out := *h
	out.Command = program(h.Command)
	return out
}

func program(command []string) []string {
	if len(command) == 0 {
		return nil
	}
	return []string{process.Program(command)}
}
