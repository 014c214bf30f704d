package memoryviz

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"sync"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/quantity"
	"vramscope/schema"
)

// MaxFile is the size limit of a snapshot in bytes. 32,768 entries of history and 100,000 blocks take 13 MiB.
const MaxFile = 1 << 30

// Frame is a line of the program. Without a file, Function says why there is none.
type Frame struct {
	File     schema.Text            `json:"file"`
	Line     quantity.Optional[int] `json:"line"`
	Function string                 `json:"function"`
}

func (f Frame) String() string {
	if f.File == "" {
		return "(" + f.Function + ")"
	}
	return fmt.Sprintf("%s:%d %s", f.File, f.Line.Or(0), f.Function)
}

// Stack lists the lines that led to an allocation, the innermost first. Equal stacks are shared.
type Stack struct {
	Frames []Frame
	own    Frame // the innermost line that is the program's own: no part of PyTorch or of Python's library
}

// The stacks of allocations without lines.
var (
	noLine   = without("no line: allocated before the recording, or after it")
	noPython = without("no Python: the backward pass, threads of C++")
)

func without(why string) *Stack { return &Stack{[]Frame{{Function: why}}, Frame{Function: why}} }

// Block is allocated memory.
type Block struct {
	place
	Size  quantity.Bytes
	Stack *Stack
}

type place struct{ device, address int64 }

// Snapshot is the memory of a process at one moment, and its earlier allocations, as far back as the
// history goes.
type Snapshot struct {
	Blocks, Allocated []Block
	Span              time.Duration // from the history's oldest entry to its newest
}

// Read reads a snapshot.
func Read(source io.Reader) (_ *Snapshot, err error) {
	content, err := bounded.First(source, MaxFile)
	if err != nil {
		return nil, err
	}
	defer func() {
		panicked := recover()
		if _, bounds := panicked.(runtime.Error); bounds {
			panicked = "it is no whole pickle"
		}
		if panicked != nil {
			err = fmt.Errorf("no snapshot of PyTorch: %v", panicked)
		}
	}()
	whole := decode(content).(*dict)
	r := reader{left: len(content), lists: map[*list]*Stack{}, stacks: map[string]*Stack{}, latest: map[place]*Stack{}}
	r.history(whole.get("device_traces"))
	if whole.get("segments") == nil {
		panic("it has no segments")
	}
	for _, segment := range r.dicts(whole.get("segments")) {
		r.segment(segment)
	}
	return &r.Snapshot, nil
}

// reader makes a Snapshot. It reads each list of frames once, because many blocks may share it.
type reader struct {
	Snapshot
	left   int // how many more values may be read: limits the cost of one list that is in many lists
	lists  map[*list]*Stack
	stacks map[string]*Stack // by their frames
	latest map[place]*Stack  // the stack of the last allocation at each place
}

func (r *reader) values(value any) []any {
	l, _ := value.(*list)
	if l == nil {
		return nil
	}
	if r.left -= len(l.items); r.left < 0 {
		panic("it has more values than bytes")
	}
	return l.items
}

func (r *reader) dicts(value any) (found []*dict) {
	for _, item := range r.values(value) {
		if d, ok := item.(*dict); ok {
			found = append(found, d)
		}
	}
	return found
}

func number(d *dict, key string) int64 { return field[int64](d, key) }

// field returns the value of a key, or the zero value if there is none of that type.
func field[T any](d *dict, key string) T {
	value, _ := d.get(key).(T)
	return value
}

// stack returns the stack of an allocation, noLine without frames.
func (r *reader) stack(d *dict) *Stack {
	frames := field[*list](d, "frames")
	if s := r.lists[frames]; s != nil {
		return s
	}
	var key []byte
	every := r.dicts(d.get("frames"))
	for _, f := range every {
		key = fmt.Appendf(key, "%p", f)
	}
	s := r.stacks[string(key)]
	if s == nil && len(every) > 0 {
		s = &Stack{}
		for _, f := range every {
			file := schema.Text(cmp.Or(field[string](f, "filename"), "?"))
			s.Frames = append(s.Frames, Frame{file, quantity.From(int(number(f, "line")), quantity.Probe), field[string](f, "name")})
		}
		s.own = ownFrame(s.Frames)
	}
	s = cmp.Or(s, noLine)
	r.stacks[string(key)], r.lists[frames] = s, s
	return s
}

func (r *reader) segment(segment *dict) {
	at := place{number(segment, "device"), number(segment, "address")}
	for _, block := range r.dicts(segment.get("blocks")) {
		at.address = cmp.Or(number(block, "address"), at.address)
		size := number(block, "size")
		if field[string](block, "state") == "active_allocated" && size > 0 {
			stack := r.stack(block)
			if stack == noLine && r.latest[at] == noPython {
				stack = noPython
			}
			r.Blocks = append(r.Blocks, Block{at, quantity.Bytes(size), stack})
		}
		at.address += size
	}
}

// history reads each device's history. An allocation without lines was made without Python if a later
// allocation has lines. Otherwise it may have been made after the recording.
func (r *reader) history(traces any) {
	var first, last int64
	for device, trace := range r.values(traces) {
		begin := len(r.Allocated)
		for _, event := range r.dicts(trace) {
			if at := number(event, "time_us"); at > 0 {
				first, last = min(at, cmp.Or(first, at)), max(at, last)
			}
			if size := number(event, "size"); field[string](event, "action") == "alloc" && size > 0 {
				at := place{int64(device), number(event, "addr")}
				r.Allocated = append(r.Allocated, Block{at, quantity.Bytes(size), r.stack(event)})
			}
		}
		lines := false
		for i := len(r.Allocated) - 1; i >= begin; i-- {
			b := &r.Allocated[i]
			if lines = lines || b.Stack != noLine; lines && b.Stack == noLine {
				b.Stack = noPython
			}
			if r.latest[b.place] == nil {
				r.latest[b.place] = b.Stack
			}
		}
	}
	r.Span = time.Duration(last-first) * time.Microsecond
}

// libraryFiles matches files of PyTorch and of Python's library, which allocate for their callers.
var libraryFiles = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/torch/(_|nn/|optim/|utils/|autograd/|cuda/|amp/|distributed/|functional\.py|storage\.py|func/|linalg/|fft/|profiler/|jit/|ao/|sparse/)` +
		`|/lib/python3\.\d+/[^/]+\.py$|/lib/python3\.\d+/(concurrent|asyncio|multiprocessing|collections|importlib)/|^<frozen `)
})

func ownFrame(frames []Frame) Frame {
	for _, f := range frames {
		if !libraryFiles().MatchString(string(f.File)) {
			return f
		}
	}
	return frames[0]
}
