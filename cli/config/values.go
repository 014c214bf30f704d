package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/guard"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
)

type Value struct {
	Kind
	Set     func(text string) error
	Literal func() string // in TOML
}

// Kind says which TOML values an option takes.
type Kind uint8

const (
	words  Kind = iota
	period      // "1s", or a number of seconds
	Truth
	number
	List    // texts and numbers, separated by commas in a flag
	ranges  // a GPU's index, a range, a UUID, or a list of these
	command // a program and its arguments
)

// kinds lists the values that each kind of option takes: in words, and as kinds of Go values.
var kinds = [...]struct {
	wants string
	takes []reflect.Kind
}{
	words:   {"a text in quotes", []reflect.Kind{reflect.String}},
	period:  {`a duration, like "1s", or a number of seconds`, []reflect.Kind{reflect.String, reflect.Int64, reflect.Float64}},
	Truth:   {"true or false", []reflect.Kind{reflect.Bool}},
	number:  {"a whole number", []reflect.Kind{reflect.Int64}},
	List:    {"a list in brackets", []reflect.Kind{reflect.Slice}},
	ranges:  {`a GPU's index, "0-3", a UUID, or a list of these`, []reflect.Kind{reflect.String, reflect.Int64, reflect.Slice}},
	command: {`a list of texts, like ["mail", "-s", "GPU", "bob"]`, []reflect.Kind{reflect.Slice}},
}

// textOf returns a TOML value as the text that Set takes.
func (k Kind) textOf(value any) (string, error) {
	kind, items := reflect.ValueOf(value).Kind(), []string{}
	switch {
	case !slices.Contains(kinds[k].takes, kind) && kind == reflect.String:
		return "", fmt.Errorf("want %s, not a text", kinds[k].wants)
	case !slices.Contains(kinds[k].takes, kind):
		return "", fmt.Errorf("want %s", kinds[k].wants)
	case k == command: // a word can contain a comma
		encoded, err := json.Marshal(value)
		return string(encoded), err
	case kind != reflect.Slice:
		return fmt.Sprint(value), nil
	}
	for _, item := range value.([]any) {
		switch item.(type) {
		case string, int64:
			items = append(items, fmt.Sprint(item))
		default:
			return "", errors.New("want a list of numbers and texts")
		}
	}
	return strings.Join(items, ","), nil
}

// value returns the Value of a setting: read parses its text, and write returns it in TOML.
func value[T any](kind Kind, to *T, read func(text string) (T, error), write func(T) string) Value {
	return Value{kind, func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = v
		}
		return err
	}, func() string { return write(*to) }}
}

func truth(to *bool) Value {
	return value(Truth, to, func(text string) (bool, error) {
		v, err := strconv.ParseBool(text)
		if err != nil {
			err = fmt.Errorf("%q is neither true nor false", text)
		}
		return v, err
	}, strconv.FormatBool)
}

// word returns the Value of a text that check accepts.
func word[T ~string](to *T, check func(string) error) Value {
	return value(words, to, func(text string) (T, error) { return T(text), check(text) }, tomlString)
}

func anyText(string) error { return nil }

// shown refuses control characters, and an empty text, which would mean the same as a missing key.
func shown(text string) error {
	switch {
	case text == "":
		return errors.New("it is empty")
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return errors.New("it has a character that cannot be shown")
	}
	return nil
}

// choice returns the Value of one of two or three words.
func choice[T ~string](to *T, names ...T) Value {
	return word(to, func(text string) error {
		switch {
		case slices.Contains(names, T(text)):
			return nil
		case len(names) == 2:
			return fmt.Errorf("%q is neither %s nor %s", text, names[0], names[1])
		}
		return fmt.Errorf("%q is none of %s, %s and %s", text, names[0], names[1], names[2])
	})
}

func duration(to *time.Duration, shortest, longest time.Duration) Value {
	return value(period, to, func(text string) (time.Duration, error) { return Duration(text, shortest, longest) }, tomlDuration)
}

func tomlDuration(d time.Duration) string { return strconv.Quote(inDays(d)) }

// whole returns the Value of a whole number from lowest to highest. what names the unit in errors: " of minutes", or "".
func whole(to *int, what string, lowest, highest int) Value {
	return value(number, to, func(given string) (int, error) {
		n, err := strconv.Atoi(given)
		if err != nil || n < lowest || n > highest {
			return 0, fmt.Errorf("%s is out of range: a whole number%s, %d to %d", text.Clean(given), what, lowest, highest)
		}
		return n, nil
	}, strconv.Itoa)
}

// list returns the Value of comma-separated items, each converted by read.
func list[T ~string](to *[]T, read func(item string) ([]T, error)) Value {
	return Value{List, func(text string) error {
		*to = nil
		for item := range strings.SplitSeq(text, ",") {
			values, err := read(strings.TrimSpace(item))
			if err != nil {
				return err
			}
			*to = append(*to, values...)
		}
		return nil
	}, func() string { return tomlList(*to) }}
}

// program returns the Value of a command with its arguments, given as a list in JSON.
func program(to *[]string) Value {
	return value(command, to, func(text string) (words []string, err error) {
		switch err := json.Unmarshal([]byte(text), &words); {
		case err != nil:
			return nil, errors.New("want " + kinds[command].wants)
		case len(words) == 0:
			return nil, nil
		case words[0] == "":
			return nil, errors.New("the program has no name")
		case strings.ContainsRune(strings.Join(words, ""), 0):
			return nil, errors.New("a word with a NUL byte cannot be passed to a program")
		}
		return words, nil
	}, tomlList)
}

func size(to *quantity.Bytes) Value {
	return value(words, to, func(text string) (quantity.Bytes, error) {
		v, err := quantity.ParseBytes(text)
		if err == nil && (v < 16*quantity.MiB || v > quantity.PiB) {
			err = fmt.Errorf("%s is out of range: 16MiB to 1PiB", text)
		}
		return v, err
	}, tomlBytes)
}

// tomlBytes returns an amount in the largest unit without a fraction.
func tomlBytes(b quantity.Bytes) string {
	for _, u := range []struct {
		size quantity.Bytes
		name string
	}{{quantity.TiB, "TiB"}, {quantity.GiB, "GiB"}, {quantity.MiB, "MiB"}, {quantity.KiB, "KiB"}} {
		if b%u.size == 0 {
			return fmt.Sprintf(`"%d%s"`, b/u.size, u.name)
		}
	}
	return fmt.Sprintf(`"%d"`, int64(b))
}

// amount returns the Value of a share, "10%", or a size, "8GiB".
func amount(to *guard.Amount) Value {
	return value(words, to, func(text string) (a guard.Amount, err error) {
		if number, share := strings.CutSuffix(text, "%"); share {
			a.Percent, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil || !(a.Percent > 0 && a.Percent < 100) {
				return a, fmt.Errorf("%q is no share: write 10%%, or a size like 8GiB", text)
			}
			return a, nil
		}
		a.Bytes, err = quantity.ParseBytes(text)
		if err == nil && a.Bytes < quantity.MiB { // its unit is probably missing
			err = fmt.Errorf("%q is less than 1MiB: write 10%%, or a size like 8GiB", text)
		}
		return a, err
	}, func(a guard.Amount) string {
		if a.Percent > 0 {
			return strconv.Quote(strconv.FormatFloat(a.Percent, 'g', -1, 64) + "%")
		}
		return tomlBytes(a.Bytes)
	})
}

// tomlString returns a TOML basic string, with U+FFFD for bytes that are not UTF-8.
func tomlString[T ~string](s T) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(string(s), "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func tomlList[T ~string](items []T) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = tomlString(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
