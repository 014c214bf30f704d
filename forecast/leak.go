package forecast

import "math"

// lows keeps the lowest samples of slots of time, with a row for slots of 1, 2, 4… minutes each.
// A row does not show the rises of a sawtooth that is shorter than its slots, nor the steps of a
// staircase. The newest lows of a row are a leak if
//
//   - they lie on a line that rises: it explains nearly all of their variance;
//   - growth does not slow down: a parabola through them does not bend down by more than twice
//     its standard error;
//   - it is new: above everything that was there before;
//   - it is no warm-up, first epoch or daily pattern: it lasts longer than one, or it began
//     after a plateau as long as one, or it has been straight since the job began, bent neither
//     way, or it is a leak already. Growth as slow as a daily pattern must have lasted for
//     nearly half a day.
type lows struct {
	Minutes uint32  // complete slots: of a minute, or longer if samples are rare
	Lowest  float32 // of the open slot
	Misses  uint8   // judgements in a row that found no leak
	Ends    int64   // of the open slot, ns
	Rate    float64 // how fast it leaks, bytes per second; 0: no leak
	Rows    [scales]lowRow
}

// lowRow is the lows of slots of one length.
type lowRow struct {
	Lows [lowCap]float32 // newest first, bytes
	Size uint8
}

// observe takes a sample, and judges the series again at the end of a slot.
func (l *lows) observe(now int64, y, step float64) {
	slot := int64(max(minute, 3*step) * 1e9) // long enough for several samples, whose lowest counts
	if now < l.Ends {
		l.Lowest = min(l.Lowest, float32(y))
		return
	}
	if now-l.Ends > lowCap*slot { // lows before a long gap do not continue after it
		*l = lows{}
	} else {
		l.add(l.Lowest)
		l.judge(float64(slot) / 1e9)
	}
	l.Lowest, l.Ends = float32(y), now+slot
}

// add adds a slot's low: two slots of a row make one of the next row.
func (l *lows) add(low float32) {
	l.Minutes++
	for i := range l.Rows {
		r := &l.Rows[i]
		copy(r.Lows[1:], r.Lows[:])
		r.Lows[0] = low
		r.Size = min(r.Size+1, lowCap)
		if l.Minutes>>i&1 == 1 { // half of a slot of the next row
			return
		}
		low = min(low, r.Lows[1])
	}
}

// judge updates whether the series leaks. A leak ends only after two judgements without one.
func (l *lows) judge(minute float64) {
	for i := range l.Rows {
		if rate := l.leak(i, minute*float64(int(1)<<i)); rate > 0 {
			l.Rate, l.Misses = rate, 0
			return
		}
	}
	if l.Misses++; l.Misses > 1 {
		l.Rate, l.Misses = 0, 1
	}
}

// leak returns the rate of the newest lows of a row, if they are a leak.
func (l *lows) leak(row int, slot float64) float64 {
	r := &l.Rows[row]
	if r.Size < judged {
		return 0
	}
	y := r.Lows[:judged]
	from, to, size := float64(y[judged-1]), float64(y[0]), float64(judged)
	var sum, squares, xx, xxxx, rises, bends float64
	for i, v := range y { // orthogonal polynomials of the first and second degree
		d, x := float64(v)-from, (size-1)/2-float64(i)
		sum += d
		squares += d * d
		xx += x * x
		rises += x * d
		bends += x * x * d
		xxxx += x * x * x * x
	}
	bends -= xx / size * sum
	total, straight, bent := squares-sum*sum/size, rises*rises/xx, bends*bends/(xxxx-xx*xx/size)
	curved := math.Sqrt(bent*size) > 2*math.Sqrt(max(total-straight-bent, 0))+minChange
	top := y[judged-1] // the highest of the earlier lows, also in rows of longer slots
	for i, newer := row, judged; i < scales; i, newer = i+1, newer/2+1 {
		for _, low := range l.Rows[i].Lows[min(newer, int(l.Rows[i].Size)):l.Rows[i].Size] {
			top = max(top, low)
		}
	}
	if rises <= 0 || straight <= onLine*total || curved && bends < 0 || to-float64(top) < max(notable*to, minChange) {
		return 0
	}
	lasted, rate := slot*size, rises/xx/slot
	settled := r.Size >= 2*judged && math.Abs(from-float64(r.Lows[2*judged-1])) < plateau*(to-from)
	even := r.Size < judged+2 && straight > evenly*total && !curved
	if lasted < hour && !settled && !even && l.Rate == 0 || to > dayCourse*rate && lasted < halfDay {
		return 0
	}
	return rate
}
