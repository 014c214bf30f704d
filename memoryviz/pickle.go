package memoryviz

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// list is a list or a tuple. dict is a dictionary, whose items alternate: a key, its value, … The other values are int64, float64, string, bool and nil.
type (
	list struct{ items []any }
	dict struct{ items []any }
)

// get returns the value of a key, or nil. It looks at the first 64 keys: a dictionary of a snapshot has at most 20.
func (d *dict) get(key string) any {
	for i := 0; i < min(len(d.items), 2*64); i += 2 {
		if name, ok := d.items[i].(string); ok && name == key {
			return d.items[i+1]
		}
	}
	return nil
}

// machine executes a pickle's operations, except for those that name or call code. A malformed pickle
// causes a panic, which Read returns as an error.
//
// Source: https://github.com/python/cpython/blob/main/Lib/pickletools.py
type machine struct {
	rest  []byte
	stack []any
	marks []int // heights of the stack
	memo  []any
}

// decode returns the value of a pickle that Python or PyTorch's C++ wrote.
func decode(content []byte) any {
	m := machine{rest: content}
	for op := m.take(1)[0]; op != '.'; op = m.take(1)[0] {
		m.execute(op)
	}
	return m.pop(1)[0]
}

func (m *machine) take(n uint64) []byte {
	taken := m.rest[:n:n]
	m.rest = m.rest[n:]
	return taken
}

func (m *machine) push(value any) { m.stack = append(m.stack, value) }

// pop takes n values, none of them from below the last mark.
func (m *machine) pop(n int) []any {
	from := len(m.stack) - n
	if len(m.marks) > 0 && from < m.marks[len(m.marks)-1] {
		panic("a list without a begin")
	}
	items := m.stack[from:]
	m.stack = m.stack[:from]
	return items // valid until the next push
}

// marked takes the last mark and the values above it.
func (m *machine) marked() []any {
	last := len(m.marks) - 1
	n := len(m.stack) - m.marks[last]
	m.marks = m.marks[:last]
	return m.pop(n)
}

func (m *machine) extend(items []any) {
	switch to := m.stack[len(m.stack)-1].(type) {
	case *list:
		to.items = append(to.items, items...)
	case *dict:
		to.items = append(to.items, items[:len(items)&^1]...)
	default:
		panic("neither a list nor a dictionary")
	}
}

// widths has the length in bytes of the number that follows each operation.
var widths = [256]uint64{0x80: 1, 0x95: 8, 'q': 1, 'r': 4, 'h': 1, 'j': 4, 'K': 1, 'M': 2, 'J': 4, 0x8a: 1, 'G': 8, 0x8c: 1, 'X': 4, 0x8d: 8}

func (m *machine) execute(op byte) {
	var whole [8]byte
	copy(whole[:], m.take(widths[op]))
	n := binary.LittleEndian.Uint64(whole[:])
	switch op {
	case 0x80, 0x95: // PROTO, FRAME
	case '}':
		m.push(&dict{})
	case ']', ')':
		m.push(&list{})
	case '(':
		m.marks = append(m.marks, len(m.stack))
	case 'q', 'r', 0x94: // BINPUT, LONG_BINPUT, MEMOIZE: each has the next number
		if op != 0x94 && n != uint64(len(m.memo)) {
			panic("a value without its number")
		}
		m.memo = append(m.memo, m.stack[len(m.stack)-1])
	case 'h', 'j': // BINGET, LONG_BINGET
		m.push(m.memo[n])
	case 'K', 'M':
		m.push(int64(n))
	case 'J':
		m.push(int64(int32(n)))
	case 0x8a: // LONG1
		var long [8]byte
		copy(long[:], m.take(n))
		shift := 64 - 8*min(max(n, 1), 8)
		m.push(int64(binary.LittleEndian.Uint64(long[:])) << shift >> shift)
	case 'G':
		m.push(math.Float64frombits(binary.BigEndian.Uint64(whole[:])))
	case 'N':
		m.push(nil)
	case 0x88, 0x89:
		m.push(op == 0x88)
	case 'X', 0x8c, 0x8d:
		m.push(string(m.take(n)))
	case 'a':
		m.extend(m.pop(1))
	case 's':
		m.extend(m.pop(2))
	case 'e', 'u':
		m.extend(m.marked())
	case 't':
		m.push(&list{slices.Clone(m.marked())})
	case 0x85, 0x86, 0x87: // tuples
		m.push(&list{slices.Clone(m.pop(int(op - 0x84)))})
	default:
		panic(fmt.Sprintf("a snapshot has no operation %q", op))
	}
}
