package forecast

import (
	"math"
	"time"
)

const (
	windowLength = time.Minute
	windowCap    = 32

	// lifeCap is even, because slots are joined two by two.
	lifeCap = 24

	// fewLows is how many are needed to judge anything.
	fewLows = 5
)

// minima are the lowest samples of windows of time: of memory that goes up and
// down, the part that is never freed.
//
//	sample → open window → Lows, Means: the last half hour
//	                    └→ open slot → LifeLows, LifeMeans: all of the series
//
// Levels are kept to seven digits: the error is much smaller than any leak.
type minima struct {
	Lows  [windowCap]float32 // a ring, bytes
	Means [windowCap]float32
	Next  uint8
	Size  uint8

	// The whole life in slots of 1<<LifeScale windows each: when all are taken, each
	// two are joined into one.
	LifeLows  [lifeCap]float32 // bytes, oldest first
	LifeMeans [lifeCap]float32
	LifeSize  uint8
	LifeScale uint8

	Joined  uint8 // so many windows hold a whole cycle of the sawtooth
	Misses  uint8 // windows in a row since the last that found a leak
	Leaking bool

	Windows   uint32  // in the open slot
	SlotLow   float32 // of the open slot
	SlotSum   float64 // of its windows' means
	Samples   uint32  // in the open window
	Peak      float32 // of the open window
	Lowest    float64 // of the open window
	Sum       float64 // of its samples
	WindowEnd int64   // of the open window, ns
	Fall      float32 // the largest fall within the open window
	Falls     float32 // the average of the windows' falls

	Highest  float64 // the highest low that has left the ring, forgotten over hours
	LeakRate float64 // bytes per second
}

// sound reports whether every index lies within its array.
func (m *minima) sound() bool {
	return m.Next < windowCap && m.Size <= windowCap && m.LifeSize <= lifeCap &&
		(m.LifeScale == 0 || m.LifeScale < 32 && m.LifeSize >= lifeCap/2)
}

// observe takes a sample, and judges the series again at the end of a window.
func (m *minima) observe(now int64, y, step float64, saw *sawtooth, long *regression) {
	if now < m.WindowEnd {
		m.Lowest = min(m.Lowest, y)
		m.Sum += y
		m.Samples++
		m.Peak = max(m.Peak, float32(y))
		m.Fall = max(m.Fall, m.Peak-float32(y))
		return
	}
	if now-m.WindowEnd > 5*int64(windowLength)+int64(10e9*step) {
		// Levels before a long gap, the open window's too, do not continue after it.
		m.Size, m.LifeSize, m.LifeScale, m.Windows = 0, 0, 0, 0
	} else {
		m.close()
	}
	m.Lowest, m.Sum, m.Samples, m.Peak, m.Fall = y, y, 1, float32(y), 0

	// Where samples are rare the window is longer: its minimum has to be one of
	// several. Under a sawtooth, windows are joined until each holds a whole cycle.
	length := max(float64(windowLength), 3e9*step)
	m.WindowEnd = now + int64(length)
	const more = 1.1 // cycles differ in length
	period := float64(saw.period(now, step))
	m.join(max(1, int(math.Ceil(more*period/length))))
	const quick, few = 20e9, 6 // a faster cycle, or one of so few samples, is noise
	m.judge(length/60e9, period > max(quick, few*1e9*step), length/1e9/step, long)
}

// close adds the open window's figures to the rows.
func (m *minima) close() {
	mean := m.Lowest
	if m.Samples > 0 {
		mean = m.Sum / float64(m.Samples)
	}
	if m.Size == windowCap && m.Joined > 0 {
		m.Highest = max(m.Highest, m.low(windowCap, int(m.Joined)))
	}
	m.Lows[m.Next], m.Means[m.Next] = float32(m.Lowest), float32(mean)
	m.Next = (m.Next + 1) % windowCap
	m.Size = min(m.Size+1, windowCap)
	m.Falls += (m.Fall - m.Falls) / min(float32(m.Size), 8)

	if m.Windows == 0 {
		m.SlotLow, m.SlotSum = float32(m.Lowest), 0
	}
	m.SlotLow = min(m.SlotLow, float32(m.Lowest))
	m.SlotSum += mean
	m.Windows++
	if m.Windows < 1<<m.LifeScale {
		return
	}
	if m.LifeSize == lifeCap {
		for i := range lifeCap / 2 {
			m.LifeLows[i] = min(m.LifeLows[2*i], m.LifeLows[2*i+1])
			m.LifeMeans[i] = (m.LifeMeans[2*i] + m.LifeMeans[2*i+1]) / 2
		}
		m.LifeSize /= 2
		m.LifeScale++
		return // the open slot is the first half of one
	}
	m.LifeLows[m.LifeSize], m.LifeMeans[m.LifeSize] = m.SlotLow, float32(m.SlotSum/float64(m.Windows))
	m.LifeSize++
	m.Windows = 0
}

// join sets how many windows hold a whole cycle, and lets Highest decay.
func (m *minima) join(windows int) {
	const memory = 240 // windows
	windows = min(windows, windowCap)
	if windows > int(m.Joined) {
		m.Highest = 0 // it was that of shorter windows, in which no cycle ended
	}
	m.Joined = uint8(windows)
	top := 0.0
	for back := int(m.Size); back > 0; back-- {
		top = max(top, m.low(back, min(windows, back)))
	}
	m.Highest -= max(m.Highest-top, 0) / memory
}

// low is the lowest of so many windows from one that lies back; 1 is the newest.
func (m *minima) low(back, windows int) float64 {
	lowest := float32(math.MaxFloat32)
	for i := range windows {
		lowest = min(lowest, m.Lows[(int(m.Next)+2*windowCap-back+i)%windowCap])
	}
	return float64(lowest)
}

// row is levels of one series at equal intervals, oldest first.
type row struct {
	lows    []float64 // what was never freed, bytes
	levels  []float64 // what shows best whether growth slows down, bytes
	minutes float64   // from one to the next
	noise   float64   // shifts levels at least so far, bytes
	life    bool
}

// lately is the last half hour's row, without a remainder at its oldest end. Under
// a sawtooth only minima show growth; otherwise means are less noisy.
func (m *minima) lately(lows, means []float64, minutes, samples float64) row {
	joined := int(m.Joined)
	for back := int(m.Size) / joined * joined; back > 0; back -= joined {
		lows = append(lows, m.low(back, joined))
	}
	r := row{lows: lows, levels: lows, minutes: minutes * float64(joined), noise: m.noise(samples)}
	if joined == 1 {
		r.levels = means
	}
	return r
}

// means appends the means of the last half hour's windows, oldest first.
func (m *minima) means(dst []float64) []float64 {
	for back := int(m.Size); back > 0; back-- {
		dst = append(dst, float64(m.Means[(int(m.Next)+windowCap-back)%windowCap]))
	}
	return dst
}

// ever is the whole life's row. It is empty where the last half hour's holds as
// much, no slot holds a whole cycle, or memory was freed since the last slot.
func (m *minima) ever(lows, levels []float64, minutes, samples float64) row {
	windows := float64(int64(1) << m.LifeScale)
	r := row{minutes: minutes * windows, noise: m.noise(samples * windows), life: true}
	if m.LifeScale == 0 || windows < float64(m.Joined) || m.Windows > 0 && m.SlotLow < m.LifeLows[m.LifeSize-1] {
		return r
	}
	for i := range m.LifeSize {
		lows = append(lows, float64(m.LifeLows[i]))
		levels = append(levels, float64(m.LifeMeans[i]))
	}
	if m.Joined > 1 {
		levels = lows
	}
	r.lows, r.levels = lows, levels
	return r
}

// noise is how far independent noise shifts the mean of so many samples; within a
// window it falls by five standard deviations.
func (m *minima) noise(samples float64) float64 {
	return float64(m.Falls) / 5 / math.Sqrt(samples)
}

// newest is the last n levels.
func newest(levels []float64, n int) []float64 { return levels[len(levels)-n:] }
