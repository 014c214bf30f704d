package baseline

// Method forecasts a series of evenly spaced samples.
type Method struct {
	path
	Name  string
	last  float64
	begun bool
}

// All is every method without a past.
func All() []*Method {
	return []*Method{
		{Name: "naive", path: naive{}},
		{Name: "SES", path: newSES()},
		{Name: "Holt", path: newTrend(1)},
		{Name: "damped Holt", path: newTrend(0.8, 0.9, 0.98)},
		{Name: "Holt–Winters", path: newWinters()},
		{Name: "weighted experts", path: &weighted{}},
	}
}

// path is what a method expects.
type path interface {
	observe(seconds, y float64)           // seconds since the last sample; 0: the first
	change(seconds, step float64) float64 // from the newest sample on
}

// naive expects that everything stays as it is.
type naive struct{}

func (naive) observe(float64, float64)        {}
func (naive) change(float64, float64) float64 { return 0 }

// Observe takes the next sample, step seconds after the last.
func (m *Method) Observe(y, step float64) {
	if !m.begun {
		step = 0
	}
	m.begun, m.last = true, y
	m.observe(step, y)
}

// Ahead is what is expected so many seconds ahead. Samples are step seconds apart.
func (m *Method) Ahead(seconds, step float64) float64 {
	return max(m.last+m.change(seconds, step), 0)
}
