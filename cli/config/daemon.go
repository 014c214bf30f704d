package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
)

// setShare takes "none", "all" or "group:NAME"; whether there is such a group is
// the daemon's to find out.
func (s *Settings) setShare(value string) error {
	group, named := strings.CutPrefix(value, "group:")
	if value != "none" && value != "all" && (!named || group == "") {
		return fmt.Errorf("%q is neither none, nor all, nor group:NAME", value)
	}
	s.Share = value
	return nil
}

func (s *Settings) setKeep(value string) (err error) {
	s.Keep, err = Duration(value, time.Hour, Longest)
	return err
}

func (s *Settings) setMaxSize(value string) error {
	const least, most = 16 * quantity.MiB, quantity.PiB
	size, err := quantity.ParseBytes(value)
	if err != nil {
		return err
	}
	if size < least || size > most {
		return fmt.Errorf("%s is out of range: 16MiB to 1PiB", value)
	}
	s.MaxSize = size
	return nil
}

// exactBytes is what setMaxSize reads back, in the largest unit without a fraction.
func exactBytes(b quantity.Bytes) string {
	for _, u := range []struct {
		size quantity.Bytes
		name string
	}{{quantity.TiB, "TiB"}, {quantity.GiB, "GiB"}, {quantity.MiB, "MiB"}, {quantity.KiB, "KiB"}} {
		if b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

func (s *Settings) setCommands(value string) error {
	if value != "name" && value != "full" {
		return fmt.Errorf("%q is neither name nor full", value)
	}
	s.Commands = value
	return nil
}

// setAlertCommand takes a JSON list.
func (s *Settings) setAlertCommand(value string) error {
	var words []string
	if err := json.Unmarshal([]byte(value), &words); err != nil {
		return err
	}
	if len(words) > 0 && words[0] == "" {
		return errors.New("the program has no name")
	}
	for _, word := range words {
		if strings.ContainsRune(word, 0) {
			return errors.New("a word with a NUL byte cannot be passed to a program")
		}
	}
	s.AlertCommand = nil
	if len(words) > 0 {
		s.AlertCommand = words
	}
	return nil
}
