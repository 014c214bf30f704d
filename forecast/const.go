package forecast

// Every constant of the method. Times are in seconds unless their name says otherwise.
const (
	mebibyte  = 1 << 20 // what an allocator's rounding does to a figure, bytes
	vanishing = 1e-200  // smaller sums are 0: they would shrink to denormal numbers, which are slow
	z80       = 1.2816  // the bounds of 80 % of normal errors, in standard deviations

	// The time constants of the regressions and the autoregression. Each covers at least
	// so many samples, however rare. The quick line sees growth within half a minute; with
	// less it follows noise.
	quickSeconds, quickSamples = 8, 2
	shortTau                   = 60
	longTau                    = 300
	meanTau, meanSamples       = 1200, 100

	slowest = 1e-4 // of the way, from one sample to the next: slower is a trend

	pendingCap   = 14  // forecasts that a horizon keeps: more learn no more
	outlier      = 1.5 // claims that one change counts for at most
	priorSamples = 3   // forecasts that the next shorter horizon's verdict counts as

	neverArrives = 3.0 // expected times until an arrival is given up
	farther      = 0.7 // the error of an arrival in many minutes to what one in few lets expect, in most regimes
	unsure       = 0.5 // the error of an arrival before there are any: it takes 0.6 to 1.6 times as long
	sampled      = 0.8 // share of a step in which 80 % of the first samples after an arrival lie

	residualCap     = 48 // errors that a horizon keeps: the 95 % bound has one beyond it
	enoughResiduals = 9  // from which its interval is its own: the largest has the rank of 90 %

	beyond   = 1.3  // factor on the worst error where there are too few for a rank
	adapting = 0.01 // step of the adaptive conformal correction: a dozen misses widen by a tenth

	farMiss = 2.5  // usual 80 % bounds that no noise makes: three standard deviations
	bent    = 0.4  // a series without a course explains less
	until   = 1.5  // horizons that a course is followed: then forecasts made since have come due
	ended   = 0.15 // quick time constants for which a series that has ended to rise lies below its line
	sure    = 1.9  // quick time constants for which a course must have lasted: by then a server has its KV cache

	leastRamp = 50e9 // of a course up to full, ns: a server takes its KV cache in less
	leastPast = 60e9 // of a job, ns, before it is said to fill a GPU

	pastCap     = 800 // bins of the past: cycles may be half as long
	peakCap     = 5
	risingPeaks = 4    // each above the last before the next is expected to be: one in 24 by chance
	minSwing    = 0.02 // share of the level from which a rise or fall counts
	rest        = 30   // bins without a new high end a rise
	clarity     = 2.8  // times as far as a random walk gets: a cycle
	uneven      = 1.6  // a cycle's length to another's, and the present one's to the mean
	slack       = 0.1  // share of a cycle in which its pace is not known yet

	scales    = 8         // rows of lows: the slots of the last have two hours
	lowCap    = 20        // lows of a row
	onLine    = 0.97      // share of the lows' variance that the line of a leak explains: of six steps,
	evenly    = 0.99      // and while a first epoch may last, of ten
	freed     = 0.1       // more than this share of what was freed before must be new
	plateau   = 0.25      // rises by less than this share of the growth that follows
	epoch     = 3600      // a first epoch that is longer is rare
	dayCourse = 3 * 3600  // in which memory doubles; a day's sine needs 3.8 hours
	halfDay   = 13 * 3600 // and an hour: so long no day rises

	mostly  = 0.85          // share of the variance that the line of a growing series explains
	notable = 0.01          // share of the level from which a change counts,
	least   = 16 * mebibyte // in bytes at least
	nothing = 0.05          // share of its memory that a job leaves behind
)

// quickTau is the quick line's time constant.
func (s *state) quickTau() float64 { return max(quickSeconds, quickSamples*s.Step) }

// taus are the time constants of the lines.
func (s *state) taus() [3]float64 { return [...]float64{s.quickTau(), shortTau, longTau} }
