package args

import (
	"strings"
	"time"

	"github.com/redfence/redfence/commands/resp"
)

// KillFilter says which connections CLIENT KILL ends: those that pass all conditions.
type KillFilter struct {
	Old         bool   // the form with only an address, which answers OK or an error
	ID          int64  // 0 for any
	Addr, Local string // "" for any
	Type        ClientType
	ByType      bool
	Me          bool // also the connection that asks
}

// ClientKill parses CLIENT KILL addr | option value ... (https://redis.io/docs/latest/commands/client-kill/). As in
// Redis the last of several equal options counts.
func ClientKill(line []string) (KillFilter, error) {
	if len(line) == 3 {
		return KillFilter{Old: true, Addr: line[2], Me: true}, nil
	}
	var f KillFilter
	for r := From(line, 2); r.More(); {
		option := r.Option()
		value, err := r.Word()
		if err == nil {
			err = f.set(option, value)
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *KillFilter) set(option, value string) error {
	switch option {
	case "ID":
		id, err := Int(value)
		if err != nil || id < 1 {
			return resp.ErrKillID
		}
		f.ID = id
	case "TYPE":
		t, ok := clientTypes[strings.ToLower(value)]
		if !ok {
			return resp.UnknownClientType(value)
		}
		f.Type, f.ByType = t, true
	case "ADDR":
		f.Addr = value
	case "LADDR":
		f.Local = value
	case "USER":
		if value != DefaultUser {
			return resp.NoSuchUser(value)
		}
	case "SKIPME":
		return f.skipMe(value)
	default:
		return resp.ErrSyntax
	}
	return nil
}

func (f *KillFilter) skipMe(value string) error {
	switch strings.ToLower(value) {
	case "yes":
		f.Me = false
	case "no":
		f.Me = true
	default:
		return resp.ErrSyntax
	}
	return nil
}

// Pause says how long clients wait.
type Pause struct {
	For time.Duration
	All bool // all commands wait, not only those that may write
}

// ClientPause parses CLIENT PAUSE ms [WRITE|ALL] (https://redis.io/docs/latest/commands/client-pause/).
func ClientPause(line []string) (Pause, error) {
	p := Pause{All: true}
	if len(line) > 4 {
		return p, resp.WrongUse("CLIENT", line[1])
	}
	if len(line) == 4 {
		switch strings.ToUpper(line[3]) {
		case "WRITE":
			p.All = false
		case "ALL":
		default:
			return p, resp.ErrPauseMode
		}
	}
	if err := checkTimeout(line[2]); err != nil {
		return p, err
	}
	ms, _ := Int(line[2])
	p.For = time.Duration(min(ms, maxPauseMs)) * time.Millisecond
	return p, nil
}

// maxPauseMs is as good as for ever, and fits a Duration.
const maxPauseMs = 1 << 40

// Unblock says which blocked command CLIENT UNBLOCK ends, and how.
type Unblock struct {
	ID    int64
	Error bool // with an error, not as if its time-out was over
}

// ClientUnblock parses CLIENT UNBLOCK id [TIMEOUT|ERROR] (https://redis.io/docs/latest/commands/client-unblock/).
func ClientUnblock(line []string) (Unblock, error) {
	var u Unblock
	if len(line) > 4 {
		return u, resp.WrongUse("CLIENT", line[1])
	}
	if len(line) == 4 {
		switch strings.ToUpper(line[3]) {
		case "TIMEOUT":
		case "ERROR":
			u.Error = true
		default:
			return u, resp.ErrUnblockReason
		}
	}
	var err error
	u.ID, err = Int(line[2])
	return u, err
}

// ConfigSet parses CONFIG SET name value ...; the names are in lower case.
func ConfigSet(line []string) ([][2]string, error) {
	if len(line)%2 != 0 {
		return nil, resp.ErrSyntax
	}
	var pairs [][2]string
	for i := 2; i < len(line); i += 2 {
		pairs = append(pairs, [2]string{strings.ToLower(line[i]), line[i+1]})
	}
	return pairs, nil
}

// MemoryUsage checks MEMORY USAGE key [SAMPLES count].
func MemoryUsage(line []string) (struct{}, error) {
	if len(line) == 3 {
		return struct{}{}, nil
	}
	for r := From(line, 3); r.More(); {
		if r.Option() != "SAMPLES" || !r.More() {
			return struct{}{}, resp.ErrSyntax
		}
		n, err := r.Int()
		if err == nil && n < 0 {
			err = resp.ErrSyntax
		}
		if err != nil {
			return struct{}{}, err
		}
	}
	return struct{}{}, nil
}

// SlowlogGet checks SLOWLOG GET [count].
func SlowlogGet(line []string) (struct{}, error) {
	if len(line) > 3 {
		return struct{}{}, resp.WrongUse("SLOWLOG", line[1])
	}
	if len(line) == 3 {
		if n, err := Int(line[2]); err != nil || n < -1 {
			return struct{}{}, resp.ErrSlowlogCount
		}
	}
	return struct{}{}, nil
}
