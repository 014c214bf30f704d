package trial

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/cli/command"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/lease"
	"vramscope/sampler/snapshot"
	"vramscope/server"
	"vramscope/ui/cell"
)

// sharing is what the command "demo lease" plays on: a GPU and a ledger, a simulated server and training.
type sharing struct {
	server       *server.Server
	ledger       lease.Ledger
	room, trains *lease.Lease // of the sleeping server's room; of the training

	mu     sync.Mutex
	asleep bool
	turned time.Time // when the server was asked to sleep or to wake
}

const (
	gpuSize, gpuID = 80 * quantity.GiB, "GPU-0"
	awake, asleep  = 70 * quantity.GiB, quantity.GiB
	training       = 40 * quantity.GiB
	turnTime       = 1500 * time.Millisecond // until memory has come or gone
	sceneTime      = 2 * time.Second
)

// answer answers for the simulated server, a vLLM.
func (s *sharing) answer(path string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch path {
	case "/version":
		return []byte(`{"version": "0.33.0"}`), nil
	case "/is_sleeping":
		return fmt.Appendf(nil, `{"is_sleeping": %v}`, s.asleep), nil
	case "/sleep?level=1&mode=wait", "/wake_up":
		s.asleep, s.turned = path != "/wake_up", time.Now()
	}
	return []byte("vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n"), nil // of /metrics
}

// uses returns the memory that the server and the training use. The memory of the server changes
// turnTime after the request.
func (s *sharing) uses() (server, trains quantity.Bytes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if server = awake; s.asleep == (time.Since(s.turned) > turnTime) {
		server = asleep
	}
	if s.trains != nil {
		trains = training - quantity.GiB/2
	}
	return server, trains
}

// sample returns a snapshot of the GPU, and passes its figures to the ledger.
func (s *sharing) sample(context.Context) *snapshot.Snapshot {
	server, trains := s.uses()
	reading := lease.Reading{At: time.Now(), Devices: []lease.Device{{UUID: gpuID, Label: "0", Capacity: gpuSize, Free: gpuSize - server - trains, Known: true, Exact: true}}}
	if s.trains != nil {
		reading.Used = map[lease.Use]quantity.Bytes{{Lease: s.trains.ID, Device: gpuID}: trains}
	}
	s.ledger.Observe(reading)
	return &snapshot.Snapshot{
		Simulated: true, Host: snapshot.Host{MemoryTotal: quantity.From(quantity.TiB, quantity.System)},
		GPUs: []snapshot.GPU{{UUID: gpuID, State: snapshot.GPUOK, ProcessCount: quantity.From(1, quantity.Driver)}},
		Rows: []snapshot.Process{{ID: snapshot.RowID{Process: s.server.Process, GPUUUID: gpuID}, Used: quantity.From(server, quantity.Driver)}},
	}
}

// claim asks the ledger for a lease, and returns it with the answer in words.
func (s *sharing) claim(need quantity.Bytes, parent string) (*lease.Lease, string) {
	s.sample(context.Background())
	given, err := s.ledger.Claim(time.Now(), lease.Claim{Need: need, Count: 1, Parent: parent}, s.ledger.Words)
	if err != nil {
		return nil, "no lease: it " + err.Error()
	}
	return given, "lease " + given.ID + " holds " + given.Need.String()
}

// run asks the server to sleep or to wake, and returns the outcome in words.
func (s *sharing) run(ctx context.Context, level flush.Level) (string, error) {
	f := &flush.Flusher{Sample: s.sample, Clock: time.Now, Servers: func(process.Identity) (*server.Server, error) { return s.server, nil }}
	result, err := f.Run(ctx, flush.Request{Process: s.server.Process, Level: level, Origin: action.Command("demo")})
	return result.Sentence(""), err
}

func demoLease(ctx context.Context, p *command.Program) error {
	t, err := newTeller(p)
	if err != nil {
		return err
	}
	s, ids := &sharing{ledger: lease.Ledger{Reserve: quantity.GiB / 2}}, 0
	s.ledger.NewID = func() string { ids++; return "demo" + strconv.Itoa(ids) }
	if s.server, err = server.Simulated("vllm", s.answer); err != nil {
		return err
	}
	left, right := "vLLM 0.33.0 uses "+awake.String()+", and has no request", ""
	err = t.begin("GPU, server, training; the ledger of leases and the release are real", "vllm serve m", "./train.py")
	for i, scene := range []struct {
		title string
		play  func() error
	}{
		{"vramscope run --need 40GiB -- ./train.py", func() error { _, right = s.claim(training, ""); return nil }},
		{"vramscope flush PID --level sleep --hold 2h", func() (err error) {
			left, err = s.run(ctx, flush.Sleep)
			s.room, right = s.claim(awake-asleep, "")
			return err
		}},
		{"VRAMSCOPE_LEASE=demo2 vramscope run --need 40GiB -- ./train.py", func() error {
			left = "vLLM sleeps"
			s.trains, right = s.claim(training, s.room.ID)
			return nil
		}},
		{"train.py has ended, another job asks for 40G; vramscope resume PID", func() (err error) {
			s.ledger.End(s.trains)
			s.trains = nil
			_, right = s.claim(training, "")
			left, err = s.run(ctx, flush.Wake)
			s.ledger.Release(time.Now(), s.room, "released")
			return err
		}},
	} {
		if time.Sleep(min(time.Duration(i), 1) * sceneTime); err == nil {
			err = scene.play()
		}
		if err != nil {
			return err
		}
		uses, trains := s.uses()
		bar := cell.Parts{2: uses, 3: trains}
		if s.room != nil && s.room.State == lease.Held {
			bar[4] = s.room.Need - trains
		}
		style := t.look.Styles.Text
		err = t.scene(scene.title, spelled(bar.Spans(&t.look, gpuSize, 2*t.column+len(columnGap))...)+"\n"+t.beside(t.words(style, left), t.words(style, right)))
	}
	return p.Print([]byte("\n" + t.legend([6]string{2: "server", 3: "training", 4: "held for the server", 5: "free"})))
}
