package baseline

// Method forecasts a series.
type Method struct {
	path
	Name string
	last float64
}

// path is what a method expects.
type path interface {
	observe(y float64)
	change() float64 // from the newest sample on
}

// All is every method, for forecasts so many samples ahead of samples step seconds apart.
func All(ahead int, step float64) []*Method {
	return []*Method{
		{Name: "naive", path: naive{}},
		{Name: "SES", path: newHolt(ahead, []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95}, []float64{0}, 1)},
		{Name: "Holt", path: newTrend(ahead, 1)},
		{Name: "damped Holt", path: newTrend(ahead, 0.8, 0.9, 0.98)},
		{Name: "Holt–Winters", path: &winters{plain: newTrend(ahead, 1), ahead: ahead}},
		{Name: "weighted experts", path: newWeighted(ahead, step)},
	}
}

// naive expects that everything stays as it is.
type naive struct{}

func (naive) observe(float64) {}
func (naive) change() float64 { return 0 }

// Observe takes the next sample.
func (m *Method) Observe(y float64) {
	m.last = y
	m.observe(y)
}

// Ahead is what is expected.
func (m *Method) Ahead() float64 { return max(m.last+m.change(), 0) }
