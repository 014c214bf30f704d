package ui

// glyphs is one of the two sets the screen is drawn with.
type glyphs struct {
	other, unknown, allocated, stuck, returnable, free string
	pending                                            string // freed, but a stream may still use it: only on the map of segments
	migBorder                                          string
	dash                                               string // a value that is not known
	up, down                                           string // growing, shrinking
	sawtooth, leak                                     string
	sortDown, sortUp                                   string
	rule                                               string
	corners                                            [4]string // ┌ ┐ └ ┘
	side                                               string
	ellipsis                                           string
	enDash                                             string   // between the bounds of an interval
	times                                              string   // 8×H100
	spark                                              []string // lowest first; nil drops the column
	capacity, median, bound                            string
	ascii                                              bool
}

var unicodeGlyphs = glyphs{
	other: "▓", unknown: "▄", allocated: "█", stuck: "▒", returnable: "░", free: "·", pending: "▅",
	migBorder: "│", dash: "–", up: "↑", down: "↓", sawtooth: "~", leak: "L",
	sortDown: "▼", sortUp: "▲", rule: "─", corners: [4]string{"┌", "┐", "└", "┘"}, side: "│",
	ellipsis: "…", enDash: "–", times: "×",
	spark:    []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇"},
	capacity: "═", median: "-", bound: "·",
}

var asciiGlyphs = glyphs{
	other: "x", unknown: "o", allocated: "#", stuck: "=", returnable: "-", free: ".", pending: "%",
	migBorder: "|", dash: "-", up: "^", down: "v", sawtooth: "~", leak: "L",
	sortDown: "v", sortUp: "^", rule: "-", corners: [4]string{"+", "+", "+", "+"}, side: "|",
	ellipsis: "+", enDash: "-", times: "x",
	capacity: "=", median: "-", bound: ".",
	ascii: true,
}
