package tally

import (
	"slices"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Answers of the tables.
var (
	v3  = Version{3, "p.1"}
	v4  = Version{4, "p.2"}
	v4b = Version{4, "q.9"}
)

func acquired(before Version) *Answer {
	return &Answer{Reply: resp.OK(), Writes: []Write{{
		Key: "lock", Before: before, After: Version{before.Number + 1, "r.1"}, Exists: true, State: "mine", TTL: 30000, Token: 100, Fresh: true,
	}}}
}

func released(before Version) *Answer {
	return &Answer{Reply: resp.Int(1), Writes: []Write{{
		Key: "lock", Before: before, After: Version{before.Number + 1, "r.1"}, Existed: true, Ended: true, OldToken: 100,
	}}}
}

func renewed(reply resp.Value) *Answer {
	return &Answer{Reply: reply, Writes: []Write{{
		Key: "lock", Before: v3, After: v4, Existed: true, Exists: true, State: "mine", TTL: 30000, Renewal: true,
	}}}
}

func shortened(before Version) *Answer {
	return &Answer{Reply: resp.Int(1), Writes: []Write{{
		Key: "lock", Before: before, After: before.Next("r.1"), Existed: true, Exists: true, State: "mine", TTL: 100, Ended: true, Shortened: true,
		Token: 100, OldToken: 100,
	}}}
}

func refused() *Answer          { return &Answer{Reply: resp.Value{}} }
func ttl(ms int64) *Answer      { return &Answer{Reply: resp.Int(ms), IsTTL: true} }
func silent() *Answer           { return &Answer{Reason: "connection refused"} }
func said(v resp.Value) *Answer { return &Answer{Reply: v} }

func quarantined(a *Answer) *Answer {
	a.Quarantined = true
	return a
}

func knowing(a *Answer, v Version) *Answer {
	a.Seen = []Seen{{Key: "lock", Version: v, Exists: true}}
	return a
}

// alsoNaming is an answer to a request that named one more key than it wrote to.
func alsoNaming(a *Answer, v Version) *Answer {
	a.Seen = []Seen{{Key: "lock", Version: v4, Exists: true}, {Key: "other", Version: v, Exists: v != Version{}}}
	return a
}

func votesOf(answers ...*Answer) *Votes {
	v := NewVotes(len(answers))
	for i, a := range answers {
		v.Add(i, a)
	}
	return v
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []*Answer
		want    Verdict
		winners []int
	}{
		{"nobody has answered", []*Answer{nil, nil, nil}, Pending, nil},
		{"one of three", []*Answer{acquired(v3), nil, nil}, Pending, nil},
		{"two of three did the same", []*Answer{acquired(v3), nil, acquired(v3)}, Won, []int{0, 2}},
		{"two of five", []*Answer{acquired(v3), acquired(v3), nil, nil, nil}, Pending, nil},
		{"three of five", []*Answer{acquired(v3), acquired(v3), refused(), nil, acquired(v3)}, Won, []int{0, 1, 4}},
		{"the same reply from different versions", []*Answer{acquired(v3), acquired(v4), silent()}, Lost, nil},
		{"versions of equal number by different requests", []*Answer{acquired(v4), acquired(v4b), silent()}, Lost, nil},
		{"granted, refused, silent", []*Answer{acquired(v3), refused(), silent()}, Lost, nil},
		{"refused by two", []*Answer{acquired(v3), refused(), refused()}, Won, []int{1, 2}},
		{"two that are silent are no majority", []*Answer{silent(), silent(), acquired(v3)}, Lost, nil},
		{"one silent, the others may agree", []*Answer{silent(), acquired(v3), nil}, Pending, nil},
		{"no two of four agree and one is missing", []*Answer{acquired(v3), acquired(v4), refused(), silent(), nil}, Lost, nil},
		{"TTLs of one moment", []*Answer{ttl(20000), ttl(19998), nil}, Won, []int{0, 1}},
		{"a TTL and no key", []*Answer{ttl(20000), ttl(-2), nil}, Pending, nil},
		{"what a forgetful node grants on nothing", []*Answer{quarantined(acquired(Version{})), acquired(Version{}), silent()}, Lost, nil},
		{"what a forgetful node grants on a version that others may have left", []*Answer{quarantined(acquired(v3)), acquired(v3), silent()}, Lost, nil},
		{"a forgetful node that knows what is released", []*Answer{quarantined(released(v3)), released(v3), silent()}, Won, []int{0, 1}},
		{"a forgetful node that knows what is renewed", []*Answer{quarantined(renewed(resp.Int(1))), renewed(resp.Int(1)), silent()}, Won, []int{0, 1}},
		{"a hold is shortened, which some missed a renewal of", []*Answer{shortened(v3), shortened(v4), refused()}, Won, []int{0, 1}},
		{"a forgetful node that knows only the key it wrote to", []*Answer{
			quarantined(alsoNaming(released(v3), Version{})), alsoNaming(released(v3), Version{}), silent(),
		}, Lost, nil},
		{"a forgetful node that knows all keys", []*Answer{
			quarantined(alsoNaming(released(v3), v4)), alsoNaming(released(v3), v4), silent(),
		}, Won, []int{0, 1}},
		{"two forgetful nodes", []*Answer{quarantined(released(v3)), quarantined(released(v3)), silent()}, Lost, nil},
		{"a forgetful node that refuses", []*Answer{quarantined(refused()), refused(), silent()}, Lost, nil},
		{"a forgetful node that refuses and knows why", []*Answer{quarantined(knowing(refused(), v3)), knowing(refused(), v3), silent()}, Won, []int{0, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := votesOf(tt.answers...)
			if got := v.Verdict(); got != tt.want {
				t.Fatalf("verdict %v, want %v", got, tt.want)
			}
			if tt.want == Won && !slices.Equal(v.Winners(), tt.winners) {
				t.Errorf("winners %v, want %v", v.Winners(), tt.winners)
			}
		})
	}
}

// A node that a write has not reached must not decide what the TTL is, as long as others may still answer.
func TestTTLsFarApartWaitForTheOthers(t *testing.T) {
	tests := map[string]struct {
		answers []*Answer
		want    Verdict
	}{
		"near":                     {[]*Answer{ttl(5000), ttl(4990), nil}, Won},
		"one is of before":         {[]*Answer{ttl(60000), ttl(5000), nil}, Pending},
		"none and one of before":   {[]*Answer{ttl(Forever), ttl(5000), nil}, Pending},
		"nobody else will answer":  {[]*Answer{ttl(Forever), ttl(5000), silent()}, Won},
		"the third has decided it": {[]*Answer{ttl(Forever), ttl(5000), ttl(Forever)}, Won},
	}
	for name, tt := range tests {
		if got := votesOf(tt.answers...).Verdict(); got != tt.want {
			t.Errorf("%s: verdict %v, want %v", name, got, tt.want)
		}
	}
	v := votesOf(ttl(Forever), ttl(5000), ttl(Forever))
	if v.Verdict(); v.Reply().Int() != Forever {
		t.Errorf("answered %v, a majority has no TTL", v.Reply())
	}
}

func TestReply(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []*Answer
		want    int64
	}{
		{"the TTL that a majority guarantees", []*Answer{ttl(20000), ttl(19998), ttl(20001)}, 20000},
		{"a key without TTL is longest", []*Answer{ttl(-1), ttl(20000), silent()}, 20000},
		{"all without TTL", []*Answer{ttl(-1), ttl(-1), nil}, -1},
		{"no key", []*Answer{ttl(-2), ttl(20000), ttl(-2)}, -2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := votesOf(tt.answers...)
			if v.Verdict() != Won {
				t.Fatal("not won")
			}
			if got := v.Reply().Int(); got != tt.want {
				t.Errorf("reply %d, want %d", got, tt.want)
			}
		})
	}
}

func TestElements(t *testing.T) {
	row := func(n ...int64) resp.Value {
		var elems []resp.Value
		for _, i := range n {
			elems = append(elems, resp.Int(i))
		}
		return resp.Arr(elems...)
	}
	for _, tt := range []struct {
		name    string
		answers []*Answer
		want    resp.Value
		ok      bool
	}{
		{"each decided by another majority", []*Answer{renewed(row(1, 1, 0)), renewed(row(1, 0, 1)), renewed(row(0, 1, 1))}, row(1, 1, 1), true},
		{"one undecided", []*Answer{renewed(row(1, 1)), renewed(row(1, 0)), silent()}, resp.Value{}, false},
		{"too few rows", []*Answer{renewed(row(1)), silent(), silent()}, resp.Value{}, false},
		{"rows of different length", []*Answer{renewed(row(1)), renewed(row(1, 1)), renewed(row(1))}, resp.Value{}, false},
		{"no rows", []*Answer{said(resp.Int(1)), said(resp.Int(2)), said(resp.Int(3))}, resp.Value{}, false},
		{"more than renewals", []*Answer{acquired(v3), acquired(v4), refused()}, resp.Value{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := votesOf(tt.answers...).Elements()
			if ok != tt.ok || !equal(got, tt.want) {
				t.Errorf("%v %v, want %v %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestKind(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []*Answer
		want    Kind
	}{
		{"nobody answered", []*Answer{nil, silent(), nil}, Read},
		{"nobody wrote", []*Answer{refused(), ttl(5), nil}, Read},
		{"one acquired", []*Answer{refused(), acquired(v3), renewed(resp.Int(1))}, Acquire},
		{"only renewed", []*Answer{refused(), renewed(resp.Int(1)), nil}, Renewal},
		{"only shortened", []*Answer{refused(), shortened(v3), nil}, Renewal},
		{"one released", []*Answer{acquired(v3), released(v3), refused()}, Release},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := votesOf(tt.answers...).Kind(); got != tt.want {
				t.Errorf("kind %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLease(t *testing.T) {
	short := acquired(v3)
	short.Writes[0].TTL = 500
	brief, hardly := acquired(v3), acquired(v3)
	brief.Writes[0].TTL, hardly.Writes[0].TTL = 2, 3
	endless := acquired(v3)
	endless.Writes[0].TTL = Forever
	for _, tt := range []struct {
		name    string
		answers []*Answer
		want    time.Duration
		any     bool
	}{
		{"the shortest", []*Answer{acquired(v3), short, nil}, 500 * time.Millisecond, true},
		{"within the drift", []*Answer{brief, brief, nil}, 0, false},
		{"hardly beyond the drift", []*Answer{hardly, hardly, nil}, 3 * time.Millisecond, true},
		{"without TTL", []*Answer{endless, endless, nil}, 0, false},
		{"a release", []*Answer{released(v3), released(v3), nil}, 0, false},
		{"a renewal", []*Answer{renewed(resp.Int(1)), renewed(resp.Int(1)), nil}, 30 * time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := votesOf(tt.answers...)
			if v.Verdict() != Won {
				t.Fatal("not won")
			}
			if got, any := v.Lease(); got != tt.want || any != tt.any {
				t.Errorf("%v %v, want %v %v", got, any, tt.want, tt.any)
			}
		})
	}
}

func TestValid(t *testing.T) {
	for _, tt := range []struct {
		name         string
		elapsed, ttl time.Duration
		want         bool
	}{
		{"at once", 0, 30 * time.Second, true},
		{"just before the drift begins", 29697 * time.Millisecond, 30 * time.Second, true},
		{"in the drift", 29698 * time.Millisecond, 30 * time.Second, false},
		{"after the end", 31 * time.Second, 30 * time.Second, false},
		{"a TTL shorter than the drift", 0, 2 * time.Millisecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Valid(tt.elapsed, tt.ttl); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// What looks like a renewal may be an acquisition that came upon what an earlier attempt at it has left. Then it does not
// make nodes agree that have different versions: one of them may have a hold of which the others know nothing.
func TestAnAttemptThatComesUponItsOwnLeftovers(t *testing.T) {
	on := func(before Version) *Answer {
		a := renewed(resp.OK())
		a.Writes[0].Before, a.Writes[0].Token = before, 100
		return a
	}
	for _, tt := range []struct {
		name  string
		again bool
		want  Verdict
	}{
		{"the first attempt", false, Won},
		{"another", true, Lost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := NewVotes(3)
			v.Again = tt.again
			for i, a := range []*Answer{on(v3), on(v4), on(v4b)} {
				v.Add(i, a)
			}
			if got := v.Verdict(); got != tt.want {
				t.Errorf("verdict %v, want %v", got, tt.want)
			}
		})
	}
}

// Winners may publish different things, where they know different things of what they have not written.
func TestMessagesOfAllWinnersArePublished(t *testing.T) {
	wakes := func(channels ...string) *Answer {
		a := released(v3)
		for _, channel := range channels {
			a.Messages = append(a.Messages, commands.Message{Channel: channel, Payload: "0"})
		}
		return a
	}
	for _, tt := range []struct {
		name    string
		answers []*Answer
		want    []string
	}{
		{"all the same", []*Answer{wakes("a"), wakes("a"), wakes("a")}, []string{"a"}},
		{"one knows another waiter", []*Answer{wakes("a"), wakes("b"), wakes("a")}, []string{"a", "b"}},
		{"one knows of none", []*Answer{wakes(), wakes("b"), wakes("b")}, []string{"b"}},
		{"twice", []*Answer{wakes("a", "a"), wakes("a", "a"), silent()}, []string{"a", "a"}},
		{"the loser's are not", []*Answer{wakes("a"), wakes("a"), knowing(&Answer{Messages: wakes("c").Messages}, v3)}, []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := NewVotes(len(tt.answers))
			for i, a := range tt.answers {
				v.Add(i, a)
			}
			if v.Verdict() != Won {
				t.Fatal("no majority")
			}
			var got []string
			for _, m := range v.Messages() {
				got = append(got, m.Channel)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("published on %v, want %v", got, tt.want)
			}
		})
	}
}

// What a node that may have forgotten has for a key since does not say that it had no hold of it before.
func TestReleasesAskWhoHasNotForgotten(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []*Answer
		want    Verdict
	}{
		{"it has somebody else's", []*Answer{quarantined(knowing(refused(), v3)), knowing(refused(), v3), silent()}, Lost},
		{"it has the hold", []*Answer{quarantined(released(v3)), released(v3), silent()}, Won},
		{"two others have somebody else's", []*Answer{quarantined(refused()), knowing(refused(), v3), knowing(refused(), v3)}, Won},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := votesOf(tt.answers...)
			v.Releases = true
			if got := v.Verdict(); got != tt.want {
				t.Errorf("verdict %v, want %v", got, tt.want)
			}
		})
	}
}
