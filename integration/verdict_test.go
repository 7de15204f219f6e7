package integration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redfence/redfence/integration/harness"
)

// judge compares the reference's replies with the subject's under a rule and
// returns "" or what is wrong. sameProgram says that the subject is another
// redis-server, on which deliberate differences cannot show.
func (r rule) judge(reference, subject []harness.Reply, sameProgram bool) string {
	if r.diff != "" && !sameProgram {
		return r.judgeDifference(reference, subject)
	}
	return r.judgeEqual(reference, subject)
}

// judgeDifference wants replies that really differ, and that keep whatever the
// line's other directives promise.
func (r rule) judgeDifference(reference, subject []harness.Reply) string {
	if raw(reference) == raw(subject) {
		return "marked diff=" + r.diff + " but does not differ"
	}
	if r.want != nil && !r.want.MatchString(show(subject)) {
		return fmt.Sprintf("the answer does not match %s", r.want)
	}
	if r.class || r.shape || r.mask != nil || r.regex != nil {
		return r.judgeEqual(reference, subject)
	}
	return ""
}

func (r rule) judgeEqual(reference, subject []harness.Reply) string {
	if r.regex != nil {
		return r.judgeRegex(reference, subject)
	}
	if len(reference) != len(subject) {
		return "different number of replies"
	}
	for i := range reference {
		if r.approx > 0 && near(reference[i], subject[i], r.approx) {
			continue
		}
		if r.normal(reference[i]) != r.normal(subject[i]) {
			return "replies differ"
		}
	}
	return ""
}

func (r rule) judgeRegex(reference, subject []harness.Reply) string {
	switch {
	case !r.regex.MatchString(show(reference)):
		return fmt.Sprintf("redis-server's own answer does not match %s", r.regex)
	case !r.regex.MatchString(show(subject)):
		return fmt.Sprintf("the answer does not match %s", r.regex)
	}
	return ""
}

// near tells whether two replies are equal up to n in every number.
func near(a, b harness.Reply, n int64) bool {
	if a.Kind != b.Kind || len(a.Elems) != len(b.Elems) {
		return false
	}
	for i := range a.Elems {
		if !near(a.Elems[i], b.Elems[i], n) {
			return false
		}
	}
	if a.Text == b.Text {
		return true
	}
	x, errX := strconv.ParseInt(a.Text, 10, 64)
	y, errY := strconv.ParseInt(b.Text, 10, 64)
	// A number and a sentinel (-1: no TTL, -2: no key) are never close.
	return errX == nil && errY == nil && (x < 0) == (y < 0) && max(x-y, y-x) <= n
}

// normal is the text of a reply that must be equal on both sides: the raw bytes
// unless the rule says what may differ.
func (r rule) normal(v harness.Reply) string {
	switch {
	case r.class && v.IsError():
		class, _, _ := strings.Cut(v.Text, " ")
		return string(v.Kind) + class
	case r.shape:
		return shape(v)
	case r.mask != nil:
		return masked(v, r.mask)
	case r.head > 0:
		return headed(v, r.head)
	case r.sorted:
		return sortedText(v, 1)
	case r.pairs:
		return sortedText(v, 2)
	}
	return string(v.Raw)
}

// shape is the types of a reply and the number of elements, without content.
func shape(v harness.Reply) string {
	text := string(v.Kind)
	for _, elem := range v.Elems {
		text += "(" + shape(elem) + ")"
	}
	return text
}

// masked is a reply without the values that follow the named fields.
func masked(v harness.Reply, fields []string) string {
	if v.Elems == nil {
		return string(v.Raw)
	}
	text := string(v.Kind)
	for i, elem := range v.Elems {
		if i > 0 && slices.Contains(fields, v.Elems[i-1].Text) {
			text += string(elem.Kind)
			continue
		}
		text += masked(elem, fields)
	}
	return text
}

// headed keeps the first n elements of every inner array; the order inside
// those (flags of a command) does not count.
func headed(v harness.Reply, n int) string {
	text := string(v.Kind)
	for _, inner := range v.Elems {
		text += " " + string(inner.Kind)
		for _, elem := range inner.Elems[:min(n, len(inner.Elems))] {
			text += sortedText(elem, 1)
		}
	}
	if v.Elems == nil {
		text = string(v.Raw)
	}
	return text
}

// sortedText is a reply whose elements were sorted in groups of n; a RESP3 map
// is always sorted by its pairs.
func sortedText(v harness.Reply, n int) string {
	if v.Elems == nil {
		return string(v.Raw)
	}
	if v.Kind == '%' {
		n = 2
	}
	var groups []string
	for group := range slices.Chunk(v.Elems, n) {
		text := ""
		for _, elem := range group {
			text += sortedText(elem, n)
		}
		groups = append(groups, text)
	}
	slices.Sort(groups)
	return string(v.Kind) + strings.Join(groups, "")
}

func raw(replies []harness.Reply) string {
	text := ""
	for _, v := range replies {
		text += string(v.Raw)
	}
	return text
}

// show is what a failure message and a regex see.
func show(replies []harness.Reply) string {
	var texts []string
	for _, v := range replies {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, "; ")
}
