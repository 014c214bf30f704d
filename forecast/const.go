package forecast

import "time"

// The constants of the method. Times are in seconds unless a comment says otherwise.
const (
	minute, hour = float64(time.Minute) / 1e9, float64(time.Hour) / 1e9
	mebibyte     = 1 << 20     // the bytes by which an allocator's rounding changes a figure
	singular     = 1e-9        // a share of a sum small enough to be rounding
	level        = 0.90 - 0.10 // of the intervals: 80 %

	// The time constants of the regressions and the autoregression. The quick line shows growth
	// within half a minute; a shorter one would follow noise. If samples are rare the quick line
	// covers quickSamples of them, and the autoregression covers rare of them.
	lines                      = 3 // quick, short and long
	quickSeconds, quickSamples = 8, 2
	shortTau                   = minute
	longTau                    = 5 * minute  // long enough for a staircase to look like a line
	meanTau                    = 20 * minute // long enough for noise to return to its mean several times
	rare                       = 120         // samples to remember if they are far apart

	pendingCap   = 14  // forecasts that a horizon keeps until they are due
	outlier      = 1.5 // a change counts as at most this many times the claimed one
	priorSamples = 3   // the next shorter horizon's result counts as this many forecasts

	neverArrives = 3.0 // an arrival is given up after this many times its expected time: with 2, intervals are too narrow
	unsure       = 0.5 // the assumed error of an arrival until enough are known: it takes half to one and a half times the expected time

	residualCap     = 48         // errors that a horizon keeps: the 95 % bound has one beyond it
	enoughResiduals = 1/0.10 - 1 // with this many errors a horizon has its own interval: the largest error has the rank of 90 %

	beyond   = 1.3  // the worst error is multiplied by this if there are too few for a rank
	adapting = 0.01 // step of the adaptive conformal correction: a dozen misses widen the interval by a tenth

	farMiss = 2.5 // a miss of this many times the usual 80 % bound is no noise: it is three standard deviations
	bent    = 0.4 // without a course, a line explains less than this share of the variance
	until   = 2   // a course leads at a horizon until it is this many horizons old: then its first forecasts have come due
	sure    = 2   // quick time constants for which a course must have lasted: by then a server has its KV cache

	minRamp = 50e9 // the least time from a course to full, ns: a server takes its KV cache faster
	minPast = 60e9 // how long a job must have run, in ns, before it can be forecast to fill a GPU

	pastCap = 800 // bins of the past: a cycle may be half as long as the past
	peakCap = 5   // this many peaks must rise before the next is expected to: by chance, one in 120 sequences does
	// Growth counts if it adds a twentieth to a rise. A rise was a step if no growth follows for
	// rest bins, and for twice the rise's own length.
	further, rest = 1.05, 10
	clarity       = 2.8 // a cycle swings this many times as far as a random walk does
	uneven        = 1.5 // the highest ratio of two cycles' lengths, and of the present one's to the mean
	slack         = 0.1 // a share of a cycle's length or swing that is too small to rely on

	scales    = 8           // rows of lows: the slots of the last have two hours
	judged    = 8           // lows that make a leak: the shortest one has eight minutes
	lowCap    = 20          // lows of a row: those before a leak show whether the growth is new
	onLine    = 0.97        // a leak's line explains more than this share of the lows' variance; of six equal steps, a line explains 0.97
	evenly    = 0.99        // the same while a first epoch may still last; of ten equal steps, a line explains 0.99
	plateau   = 0.25        // a plateau rises by less than this share of the growth that follows
	halfDay   = 13 * hour   // half a day and an hour: no daily curve rises for longer
	dayCourse = halfDay / 4 // if memory takes longer to double, that may be a daily curve; a day's sine needs 3.8 hours

	mostly    = 0.85          // share of the variance that the line of a growing series explains
	notable   = 0.02          // a change counts only if it is at least this share of the level
	minChange = 16 * mebibyte // and at least this many bytes
	remnant   = 0.05          // share of its memory that a job leaves behind
)

func (s *state) quickTau() float64 { return max(quickSeconds, quickSamples*s.Step) }
