package keys

import "charm.land/bubbles/v2/key"

// bindingTable is every key in the order of the help; those without a text share a line.
func bindingTable() []binding {
	return []binding{
		// MOVE
		{ID: Up, scope: everywhere, Group: GroupMove, Binding: on("↑ ↓  j k", "row", "up", "k"),
			ASCIIKeys: "Up Dn j k"},
		{ID: Down, scope: everywhere, Binding: on("", "", "down", "j"),
			hints: []Hint{{InDetail, 2, 2, "j k", "next process"}, {InOverlay, 2, 2, "j k", "move"}}},
		{ID: PageUp, scope: everywhere, Group: GroupMove, Binding: on("PgUp PgDn", "page", "pgup", "ctrl+b")},
		{ID: PageDown, scope: everywhere, Binding: on("", "", "pgdown", "ctrl+f")},
		{ID: Home, scope: everywhere, Group: GroupMove, Binding: on("Home End", "ends (g G)", "home", "g")},
		{ID: End, scope: everywhere, Binding: on("", "", "end", "G")},
		{ID: Left, scope: inTable, Group: GroupMove, Binding: on("← →", "scroll text", "left"), ASCIIKeys: "Lt Rt"},
		{ID: Right, scope: inTable, Binding: on("", "", "right")},
		{ID: Tab, scope: InMain, Group: GroupMove, Binding: on("Tab", "next panel", "tab")},
		{ID: GPU, scope: InMain | InPage, Group: GroupMove,
			Binding: on("0-9", "that GPU", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
			hints:   []Hint{{InMain, 13, 13, "0-9", "GPU"}}},
		{ID: NextAlert, scope: moments, Group: GroupMove, Binding: on("!", "next alert", "!")},
		{ID: Back, scope: everywhere, Group: GroupMove, Binding: on("Esc", "back, undo", "esc"),
			hints: []Hint{{InDetail | InPage, 1, 1, "Esc", "back"}, {InOverlay, 1, 1, "Esc", "closes"}}},

		// LOOK
		{ID: Detail, scope: inTable, Group: GroupLook, Binding: on("Enter i", "detail, GPU", "enter"),
			hints: []Hint{{InMain, 3, 3, "Enter", "detail"}}},
		{ID: GPUPage, scope: InMain | InDetail | InPage, Binding: on("", "", "i"),
			hints: []Hint{{InMain, 19, 19, "i", "GPU page"}}},
		{ID: NextGPU, scope: InPage, Binding: on("", "", "tab", "right"),
			hints: []Hint{{InPage, 2, 2, "Tab", "next GPU"}, {InPage, 3, 3, "j k", "scroll"}}},
		{ID: PreviousGPU, scope: InPage, Binding: on("", "", "left")},
		{ID: Find, scope: inTable, Group: GroupLook, Binding: on("/ F3", "find (n N)", "/", "f3"),
			hints: []Hint{{InMain, 7, 6, "/", "find"}}},
		{ID: FindNext, scope: inTable, Binding: on("", "", "n")},
		{ID: FindPrevious, scope: inTable, Binding: on("", "", "N")},
		{ID: Filter, scope: inTable, Group: GroupLook, Binding: on(`\ F4 f`, "filter", "f", `\`, "f4"),
			hints: []Hint{{InMain, 8, 8, "f", "filter"}}},
		{ID: Mine, scope: inTable, Group: GroupLook, Binding: on("u", "only mine", "u"),
			hints: []Hint{{InMain, 9, 10, "u", "mine"}}},
		{ID: Sort, scope: inTable, Group: GroupLook, Binding: on("s S  o F6", "sort, menu", "s"),
			hints: []Hint{{InMain, 10, 9, "s", "sort"}}},
		{ID: SortBack, scope: inTable, Binding: on("", "", "S")},
		{ID: SortBy, scope: inTable, Binding: on("", "", "o", "f6"),
			hints: []Hint{{InMain, 17, 17, "F6", "sort by"}}},
		{ID: LookNow, scope: InNoDriver, needs: CanLookNow, Binding: on("", "", "r"),
			hints: []Hint{{InNoDriver, 3, 2, "r", "retry now"}}},
		{ID: Doctor, scope: InNoDriver, needs: CanDoctor, Binding: on("", "", "d"),
			hints: []Hint{{InNoDriver, 4, 3, "d", "doctor"}}},
		{ID: Reverse, scope: InMain, Group: GroupLook, Binding: on("r", "reverse", "r")},
		{ID: Tree, scope: InMain, Group: GroupLook, Binding: on("t F5", "tree", "t", "f5"),
			hints: []Hint{{InMain, 11, 11, "t", "tree"}}},
		{ID: Pin, scope: InMain | InDetail, Group: GroupLook, Binding: on("P", "pin the graph", "P")},
		{ID: Zoom, scope: moments, Group: GroupLook, Binding: on("z Z", "graph, style", "z"),
			hints: []Hint{{InDetail | InPage, 8, 8, "z", "window"}}},
		{ID: GraphStyle, scope: moments, Binding: on("", "", "Z")},
		{ID: Environment, scope: inTable | InDetail, Group: GroupLook, needs: CanEnvironment,
			Binding: on("e", "environment", "e"), hints: []Hint{{InDetail, 6, 6, "e", "env"}}},
		{ID: Events, scope: moments | InNoDriver, Group: GroupLook, Binding: on("E", "events", "E"),
			hints: []Hint{{InMain, 16, 16, "E", "events"}, {InNoDriver, 5, 4, "E", "events"}}},
		{ID: Copy, scope: inTable | InDetail, Group: GroupLook, needs: CanCopy, Binding: on("y", "copy PID", "y"),
			hints: []Hint{{InDetail, 7, 7, "y", "copy"}}},
		{ID: Save, scope: InMain, Group: GroupLook, needs: CanSave, Binding: on("w", "save snapshot", "w")},
		{ID: Map, scope: InDetail, Group: GroupLook, needs: CanMap, Binding: on("v", "map (detail)", "v"),
			hints: []Hint{{InDetail, 5, 5, "v", "map"}}},
		{ID: MapAgain, scope: InDetail, needs: CanMap, Binding: on("", "", "r"),
			hints: []Hint{{InDetail, 5, 9, "r", "again"}}},

		// ACT
		{ID: Flush, scope: inTable | InDetail, Group: GroupAct, needs: CanFlush, acts: true,
			Binding: on("F", "flush cache", "F"),
			hints:   []Hint{{InMain, 4, 4, "F", "flush"}, {InDetail, 3, 3, "F", "flush"}}},
		{ID: Attach, scope: InMain | InDetail, Group: GroupAct, needs: CanAttach, acts: true,
			Binding: on("a", "attach probe", "a"),
			hints:   []Hint{{InMain, 5, 5, "a", "attach"}, {InDetail, 5, 5, "a", "attach"}}},
		{ID: Signal, scope: inTable | InDetail, Group: GroupAct, needs: CanSignal, acts: true,
			Binding: on("x F9", "signal", "x", "f9"),
			hints:   []Hint{{InMain, 6, 7, "x", "signal"}, {InDetail, 4, 4, "x", "signal"}}},
		{ID: PauseGuard, scope: InMain | InDetail, Group: GroupAct, needs: CanPauseGuard, acts: true,
			Binding: on("A", "pause guard", "A")},
		{ID: Tag, scope: inTable, Group: GroupAct, acts: true, Binding: on("Space U", "tag, untag", "space"),
			hints: []Hint{{InMain, 12, 12, "Space", "tag"}}},
		{ID: Untag, scope: inTable, acts: true, Binding: on("", "", "U")},

		// BACK IN TIME
		{ID: Freeze, scope: moments, Group: GroupPast, needs: CanSample, Binding: on("p", "freeze screen", "p"),
			hints: []Hint{{InMain, 14, 14, "p", "freeze"}}},
		{ID: Back10s, scope: moments, Group: GroupPast, Binding: on(", .", "10 s", ","),
			hints: []Hint{{InMain, 15, 15, ", .", "back, forth"}}},
		{ID: Forward10s, scope: moments, Binding: on("", "", ".")},
		{ID: Back1m, scope: moments, Group: GroupPast, Binding: on("< >  { }", "1 min, 1 hour", "<")},
		{ID: Forward1m, scope: moments, Binding: on("", "", ">")},
		{ID: Back1h, scope: moments, Binding: on("", "", "{")},
		{ID: Forward1h, scope: moments, Binding: on("", "", "}")},
		{ID: PreviousEvent, scope: moments, Group: GroupPast, Binding: on("[ ]  @", "event, time", "[")},
		{ID: NextEvent, scope: moments, Binding: on("", "", "]")},
		{ID: AskTime, scope: moments, Binding: on("", "", "@")},
		{ID: Live, scope: everywhere, Group: GroupPast, Binding: on("L", "newest, live", "L")},

		// SET
		{ID: Slower, scope: everywhere, Group: GroupSet, needs: CanSample, Binding: on("+ -", "interval", "+", "=")},
		{ID: Faster, scope: everywhere, needs: CanSample, Binding: on("", "", "-")},
		{ID: Setup, scope: everywhere, Group: GroupSet, Binding: on("O F2", "setup", "O", "f2"),
			hints: []Hint{{InMain, 18, 18, "F2", "setup"}}},
		{ID: Theme, scope: everywhere, Group: GroupSet, Binding: on("T  m", "theme, mouse", "T")},
		{ID: Mouse, scope: everywhere, Binding: on("", "", "m")},
		{ID: Redraw, scope: everywhere, Group: GroupSet, Binding: on("Ctrl+L", "redraw", "ctrl+l")},
		{ID: Suspend, scope: everywhere, Group: GroupSet, needs: CanSuspend, Binding: on("Ctrl+Z", "suspend", "ctrl+z")},
		{ID: Quit, scope: everywhere, Group: GroupSet, Binding: on("q F10", "quit", "q", "f10"),
			hints: []Hint{{InMain, 2, 2, "q", "quit"}, {InNoDriver, 6, 5, "q", "quit"}}},
		{ID: Help, scope: everywhere, Binding: on("", "", "?", "f1", "h"),
			hints: []Hint{{InMain | InNoDriver, 1, 1, "?", "help"}}},
		// Ctrl-C quits everywhere; the help need not say so.
		{ID: Interrupt, scope: everywhere, Binding: on("", "", "ctrl+c")},
	}
}

// on makes a key.Binding: what help shows, then the keys themselves.
func on(shown, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
}
