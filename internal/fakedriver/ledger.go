package fakedriver

import (
	"errors"
	"fmt"
	"os"
)

// Ledger returns the path of the ledger of the state file at path. A program must not
// open it: closing any descriptor of it frees the program's own GPU memory
// (state/ledger.h).
func Ledger(path string) string { return path + ".ledger" }

// PrepareLedger makes an empty ledger that processes of every user can write.
// Without PrepareLedger the first process that allocates makes the ledger, if its
// user may write to the directory.
func PrepareLedger(path string) error {
	file, err := os.OpenFile(Ledger(path), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("fakedriver: ledger: %w", err)
	}
	err = file.Chmod(0o666) // whatever the umask says
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("fakedriver: ledger: %w", err)
	}
	return nil
}
