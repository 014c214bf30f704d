package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"vramscope/exporter"
	"vramscope/metric"
)

func main() {
	boxes := flag.Int("boxes", 1000, "how many boxes")
	gpus := flag.Int("gpus", 8, "GPUs of each")
	listen := flag.String("listen", "127.0.0.1:9841", "the address that serves all of them")
	write := flag.String("write", "", "a folder for prometheus.yml and boxes.json, with which a Prometheus scrapes them")
	every := flag.Duration("every", 15*time.Second, "scrape interval in that prometheus.yml")
	rules := flag.String("rules", "contrib/prometheus/rules.yml", "the rules in that prometheus.yml; empty: none")
	down := flag.String("down", "", "boxes that are down from the start: 3,17")
	flag.Parse()
	if err := run(*boxes, *gpus, *listen, *write, *every, *rules, *down); err != nil {
		fmt.Fprintln(os.Stderr, "fake-fleet:", err)
		os.Exit(1)
	}
}

func run(boxes, gpus int, listen, write string, every time.Duration, rules, down string) error {
	if boxes < 1 || boxes > 65535 || gpus < 1 || gpus > 64 {
		return errors.New("1 to 65535 boxes of 1 to 64 GPUs")
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if write != "" {
		names := make([]string, boxes)
		for number := range names {
			names[number] = boxName(number)
		}
		if err := writeConfiguration(write, l.Addr().String(), names, every, rules); err != nil {
			return err
		}
	}
	f := &simulated{boxes: boxes, gpus: gpus, now: time.Now, modes: map[int]mode{}}
	for word := range strings.SplitSeq(down, ",") {
		var number int
		if _, err := fmt.Sscanf(word, "%d", &number); err == nil {
			f.modes[number] = modeDown
		}
	}
	server := &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(os.Stderr, "fake-fleet: ", 0)}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf("SIMULATED: %d boxes of %d GPUs at http://%s/%s/metrics and so on\n", boxes, gpus, l.Addr(), boxName(0))
	if write != "" {
		fmt.Printf("prometheus --config.file=%s --storage.tsdb.path=%s --web.listen-address=127.0.0.1:9090\n", filepath.Join(write, "prometheus.yml"), filepath.Join(write, "data"))
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// mode is how a box answers.
type mode string

const (
	modeUp      mode = "up"
	modeDown    mode = "down"    // closes the connection
	modeSlow    mode = "slow"    // takes longer than any scrape waits
	modeFailing mode = "failing" // answers 500
	modeStopped mode = "stopped" // answers with old figures: those of the moment when it was stopped
)

// simulated serves the boxes.
type simulated struct {
	boxes, gpus int
	now         func() time.Time
	ahead       time.Duration // how far the jobs are ahead of now

	mu      sync.Mutex
	modes   map[int]mode
	stopped map[int]time.Time
}

// ServeHTTP serves /box-0007/metrics, and takes POST /box-0007/down.
func (f *simulated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var number int
	name, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if _, err := fmt.Sscanf(name, "box-%d", &number); err != nil || number < 0 || number >= f.boxes {
		http.NotFound(w, r)
		return
	}
	switch m := mode(what); {
	case r.Method == http.MethodPost && (m == modeUp || m == modeDown || m == modeSlow || m == modeFailing || m == modeStopped):
		f.set(number, m)
	case what == "metrics" && r.Method == http.MethodGet:
		f.answer(w, r, number)
	default:
		http.NotFound(w, r)
	}
}

func (f *simulated) set(number int, m mode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.modes[number] = m; m == modeStopped {
		if f.stopped == nil {
			f.stopped = map[int]time.Time{}
		}
		f.stopped[number] = f.now()
	}
}

func (f *simulated) answer(w http.ResponseWriter, r *http.Request, number int) {
	f.mu.Lock()
	m, at := f.modes[number], f.now()
	if m == modeStopped {
		at = f.stopped[number]
	}
	f.mu.Unlock()
	switch m {
	case modeDown:
		panic(http.ErrAbortHandler) // closes the connection
	case modeSlow:
		<-r.Context().Done()
	case modeFailing:
		http.Error(w, "simulated failure", http.StatusInternalServerError)
	default:
		// A new exporter for each scrape. Nothing is kept between scrapes.
		e := exporter.New(exporter.Options{Now: f.now, ProcessLabels: metric.ProcessLabels(), Processes: 12})
		e.Observe(boxAt(number, f.gpus, at, f.ahead), nil, nil)
		r.URL.Path = "/metrics"
		e.Handler().ServeHTTP(w, r)
	}
}
