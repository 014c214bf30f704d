package ui

import "charm.land/bubbles/v2/key"

// bindingTable is every key there is, in the order of the help screen.
//
// Two bindings that are one line of help share the text of the first; the
// second has none. A hint's position is its place in the drawings of the
// bottom line, its rank the order in which a wider screen brings it back.
func bindingTable() []binding {
	return []binding{
		// MOVE
		{id: keyUp, scope: everywhere, group: groupMove, Binding: on("↑ ↓  j k", "row", "up", "k"),
			asciiKeys: "Up Dn j k"},
		{id: keyDown, scope: everywhere, Binding: on("", "", "down", "j"),
			hints: []hint{{inDetail, 2, 2, "j k", "next process"}, {inOverlay, 2, 2, "j k", "move"}}},
		{id: keyPageUp, scope: everywhere, group: groupMove, Binding: on("PgUp PgDn", "page", "pgup", "ctrl+b")},
		{id: keyPageDown, scope: everywhere, Binding: on("", "", "pgdown", "ctrl+f")},
		{id: keyHome, scope: everywhere, group: groupMove, Binding: on("Home End", "ends (g G)", "home", "g")},
		{id: keyEnd, scope: everywhere, Binding: on("", "", "end", "G")},
		{id: keyLeft, scope: inTable, group: groupMove, Binding: on("← →", "scroll text", "left"), asciiKeys: "Lt Rt"},
		{id: keyRight, scope: inTable, Binding: on("", "", "right")},
		{id: keyTab, scope: inMain, group: groupMove, Binding: on("Tab", "next panel", "tab")},
		{id: keyGPU, scope: inMain, group: groupMove,
			Binding: on("0-9", "that GPU", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
			hints:   []hint{{inMain, 13, 13, "0-9", "GPU"}}},
		{id: keyNextAlert, scope: inMain | inDetail, group: groupMove, Binding: on("!", "next alert", "!")},
		{id: keyBack, scope: everywhere, group: groupMove, Binding: on("Esc", "back, all", "esc"),
			hints: []hint{{inDetail, 1, 1, "Esc", "back"}, {inOverlay, 1, 1, "Esc", "closes"}}},

		// LOOK
		{id: keyDetail, scope: inTable, group: groupLook, Binding: on("Enter", "detail", "enter"),
			hints: []hint{{inMain, 3, 3, "Enter", "detail"}}},
		{id: keyFind, scope: inTable, group: groupLook, Binding: on("/ F3", "find (n N)", "/", "f3"),
			hints: []hint{{inMain, 7, 6, "/", "find"}}},
		{id: keyFindNext, scope: inTable, Binding: on("", "", "n")},
		{id: keyFindPrevious, scope: inTable, Binding: on("", "", "N")},
		{id: keyFilter, scope: inTable, group: groupLook, Binding: on(`\ F4 f`, "filter", "f", `\`, "f4"),
			hints: []hint{{inMain, 8, 8, "f", "filter"}}},
		{id: keyMine, scope: inTable, group: groupLook, Binding: on("u", "only mine", "u"),
			hints: []hint{{inMain, 9, 10, "u", "mine"}}},
		{id: keySort, scope: inTable, group: groupLook, Binding: on("s F6", "sort column", "s", "f6"),
			hints: []hint{{inMain, 10, 9, "s", "sort"}}},
		{id: keyLookNow, scope: inNoDriver, needs: canLookNow, Binding: on("", "", "r"),
			hints: []hint{{inNoDriver, 3, 2, "r", "look now"}}},
		{id: keyDoctor, scope: inNoDriver, needs: canDoctor, Binding: on("", "", "d"),
			hints: []hint{{inNoDriver, 4, 3, "d", "doctor"}}},
		{id: keyReverse, scope: inMain, group: groupLook, Binding: on("r", "reverse", "r")},
		{id: keyTree, scope: inMain, group: groupLook, Binding: on("t F5", "tree", "t", "f5"),
			hints: []hint{{inMain, 11, 11, "t", "tree"}}},
		{id: keyPin, scope: inMain | inDetail, group: groupLook, Binding: on("P", "pin the graph", "P")},
		{id: keyZoom, scope: inMain | inDetail, group: groupLook, Binding: on("z", "graph window", "z"),
			hints: []hint{{inDetail, 8, 8, "z", "window"}}},
		{id: keyEnvironment, scope: inTable | inDetail, group: groupLook, needs: canEnvironment,
			Binding: on("e", "environment", "e"), hints: []hint{{inDetail, 6, 6, "e", "env"}}},
		{id: keyEvents, scope: inMain | inDetail | inNoDriver, group: groupLook, Binding: on("E", "events", "E"),
			hints: []hint{{inMain, 16, 16, "E", "events"}, {inNoDriver, 5, 4, "E", "events"}}},
		{id: keyCopy, scope: inTable | inDetail, group: groupLook, needs: canCopy, Binding: on("y", "copy PID", "y"),
			hints: []hint{{inDetail, 7, 7, "y", "copy"}}},
		{id: keySave, scope: inMain, group: groupLook, needs: canSave, Binding: on("w", "save snapshot", "w")},
		{id: keyMap, scope: inDetail, group: groupLook, needs: canMap, Binding: on("v", "map (detail)", "v"),
			hints: []hint{{inDetail, 5, 5, "v", "map"}}},
		{id: keyMapAgain, scope: inDetail, needs: canMap, Binding: on("", "", "r"),
			hints: []hint{{inDetail, 5, 9, "r", "again"}}},

		// ACT
		{id: keyFlush, scope: inTable | inDetail, group: groupAct, needs: canFlush, acts: true,
			Binding: on("F", "flush cache", "F"),
			hints:   []hint{{inMain, 4, 4, "F", "flush"}, {inDetail, 3, 3, "F", "flush"}}},
		{id: keyAttach, scope: inMain | inDetail, group: groupAct, needs: canAttach, acts: true,
			Binding: on("a", "attach probe", "a"),
			hints:   []hint{{inMain, 5, 5, "a", "attach"}, {inDetail, 5, 5, "a", "attach"}}},
		{id: keySignal, scope: inTable | inDetail, group: groupAct, needs: canSignal, acts: true,
			Binding: on("x F9", "signal", "x", "f9"),
			hints:   []hint{{inMain, 6, 7, "x", "signal"}, {inDetail, 4, 4, "x", "signal"}}},
		{id: keyTag, scope: inTable, group: groupAct, acts: true, Binding: on("Space U", "tag, untag", "space"),
			hints: []hint{{inMain, 12, 12, "Space", "tag"}}},
		{id: keyUntag, scope: inTable, acts: true, Binding: on("", "", "U")},

		// BACK IN TIME
		{id: keyFreeze, scope: inMain | inDetail, group: groupPast, Binding: on("p", "freeze screen", "p"),
			hints: []hint{{inMain, 14, 14, "p", "freeze"}}},
		{id: keyBack10s, scope: inMain | inDetail, group: groupPast, Binding: on(", .", "10 s", ","),
			hints: []hint{{inMain, 15, 15, ", .", "back, forth"}}},
		{id: keyForward10s, scope: inMain | inDetail, Binding: on("", "", ".")},
		{id: keyBack1m, scope: inMain | inDetail, group: groupPast, Binding: on("< >", "1 min", "<")},
		{id: keyForward1m, scope: inMain | inDetail, Binding: on("", "", ">")},
		{id: keyLive, scope: everywhere, group: groupPast, Binding: on("L", "live again", "L")},

		// SET
		{id: keySlower, scope: everywhere, group: groupSet, Binding: on("+ -", "interval", "+", "=")},
		{id: keyFaster, scope: everywhere, Binding: on("", "", "-")},
		{id: keyTheme, scope: everywhere, group: groupSet, Binding: on("T  m", "theme, mouse", "T")},
		{id: keyMouse, scope: everywhere, Binding: on("", "", "m")},
		{id: keyRedraw, scope: everywhere, group: groupSet, Binding: on("Ctrl+L", "redraw", "ctrl+l")},
		{id: keySuspend, scope: everywhere, group: groupSet, needs: canSuspend, Binding: on("Ctrl+Z", "suspend", "ctrl+z")},
		{id: keyQuit, scope: everywhere, group: groupSet, Binding: on("q F10", "quit", "q", "f10"),
			hints: []hint{{inMain, 2, 2, "q", "quit"}, {inNoDriver, 6, 5, "q", "quit"}}},
		{id: keyHelp, scope: everywhere, Binding: on("", "", "?", "f1", "h"),
			hints: []hint{{inMain | inNoDriver, 1, 1, "?", "help"}}},
		// Ctrl-C always quits, whatever has the keys; no text needs to say so.
		{id: keyInterrupt, scope: everywhere, Binding: on("", "", "ctrl+c")},
	}
}

// on makes a key.Binding: what help shows, then the keys themselves.
func on(shown, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
}
