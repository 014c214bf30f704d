//go:build linux

// Command screenshot runs vramscope under a pseudo-terminal, presses keys, and
// writes the screen as an SVG picture: the pictures in docs are the real screen.
//
//	go run ./scripts/screenshot -size 120x40 -after 20s -keys 'j j' -o docs/screen.svg -- ./vramscope --demo
//
// Start reading at shoot (main.go); svg.go draws.
package main
