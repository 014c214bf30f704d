// Package panics carries a panic of one goroutine to another. A panic that no goroutine recovers
// ends the program and leaves the terminal in raw mode. A panic that is carried to the goroutine
// that waits for the work reaches the program, which restores the terminal.
//
//	go func() { defer func() { r.panic = panics.Catch(recover()); out <- r }(); … }()
//	r := <-out
//	r.panic.Again()
package panics
