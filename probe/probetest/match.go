package probetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// absent is the value of a missing key.
type absent struct{}

// match returns why a value does not match, or nil.
func match(want, got any) error {
	switch want := want.(type) {
	case string:
		if strings.HasPrefix(want, "$") {
			return matchRule(want, got)
		}
	case map[string]any:
		for rule, argument := range want {
			if strings.HasPrefix(rule, "$") {
				return matchNested(rule, argument, got)
			}
		}
		return matchObject(want, got)
	case []any:
		elements, ok := got.([]any)
		if !ok || len(elements) != len(want) {
			return fmt.Errorf("%v is not an array of %d", got, len(want))
		}
		for i := range want {
			if err := match(want[i], elements[i]); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	}
	if want != got {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

func matchObject(want map[string]any, got any) error {
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is not an object", got)
	}
	for key, wanted := range want {
		value, there := object[key]
		if !there {
			value = absent{}
		}
		if err := match(wanted, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func matchNested(rule string, argument, got any) error {
	switch rule {
	case "$each":
		elements, ok := got.([]any)
		if !ok {
			return fmt.Errorf("%v is not an array", got)
		}
		for i, element := range elements {
			if err := match(argument, element); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	case "$optional":
		if got == (absent{}) {
			return nil
		}
		return match(argument, got)
	case "$one_of":
		choices, _ := argument.([]any)
		for _, choice := range choices {
			if match(choice, got) == nil {
				return nil
			}
		}
		return fmt.Errorf("%v is none of %v", got, choices)
	case "$totals":
		return matchTotals(got)
	}
	return fmt.Errorf("unknown rule %s", rule)
}

var uuidForm = regexp.MustCompile(`^(GPU|MIG)-[0-9A-Za-z/-]{1,92}$`)

func matchRule(rule string, got any) error {
	_, isAbsent := got.(absent)
	_, isString := got.(string)
	_, isBool := got.(bool)
	_, isNumber := got.(json.Number)
	const limit = 1 << 50
	var ok bool
	switch rule {
	case "$absent":
		ok = isAbsent
	case "$any":
		ok = !isAbsent
	case "$string":
		ok = isString
	case "$bool":
		ok = isBool
	case "$number":
		ok = isNumber
	case "$int":
		ok = isInteger(got, 0, 1<<53)
	case "$bytes":
		ok = isInteger(got, 0, limit)
	case "$difference":
		ok = isInteger(got, -limit, limit)
	case "$time":
		now := time.Now()
		ok = isInteger(got, now.Add(-time.Minute).UnixNano(), now.Add(time.Minute).UnixNano())
	case "$uuid":
		text, _ := got.(string)
		ok = uuidForm.MatchString(text)
	default:
		return fmt.Errorf("unknown rule %s", rule)
	}
	if !ok {
		return fmt.Errorf("%v is not %s", got, rule)
	}
	return nil
}

func isInteger(got any, from, to int64) bool {
	n, ok := integer(got)
	return ok && n >= from && n <= to
}

func integer(got any) (int64, bool) {
	number, ok := got.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := number.Int64()
	return n, err == nil
}

// matchTotals checks that no known figure exceeds reserved, and that three known parts sum to it.
func matchTotals(got any) error {
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is not an allocator", got)
	}
	figure := func(name string) (int64, bool) { return integer(object[name+"_bytes"]) }
	reserved, known := figure("reserved")
	if !known {
		return nil
	}
	var sum int64
	all := true
	for _, part := range []string{"allocated", "cached", "fragmented"} {
		n, ok := figure(part)
		all = all && ok
		sum += n
	}
	for _, part := range []string{"allocated", "cached", "fragmented", "returnable", "pending", "largest_free"} {
		if n, ok := figure(part); ok && n > reserved {
			return fmt.Errorf("%s_bytes is %d, more than reserved_bytes, %d", part, n, reserved)
		}
	}
	if all && sum != reserved {
		return fmt.Errorf("the parts sum to %d, reserved_bytes is %d", sum, reserved)
	}
	return nil
}
