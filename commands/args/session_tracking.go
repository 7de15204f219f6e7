package args

import (
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// Tracking are the options of CLIENT TRACKING. Which of them go together depends on the state of the connection as
// well, so the front end decides that.
type Tracking struct {
	On                               bool
	Broadcast, OptIn, OptOut, NoLoop bool
	Redirected                       bool
	Redirect                         int64 // the ID of another connection, when Redirected
	Prefixes                         []string
}

// ClientTracking parses CLIENT TRACKING ON|OFF [REDIRECT id] [PREFIX prefix]... [BCAST] [OPTIN] [OPTOUT] [NOLOOP]
// (https://redis.io/docs/latest/commands/client-tracking/).
func ClientTracking(line []string) (Tracking, error) {
	var o Tracking
	for rest := line[3:]; len(rest) > 0; rest = rest[1:] {
		switch word := strings.ToUpper(rest[0]); {
		case word == "BCAST":
			o.Broadcast = true
		case word == "OPTIN":
			o.OptIn = true
		case word == "OPTOUT":
			o.OptOut = true
		case word == "NOLOOP":
			o.NoLoop = true
		case word == "PREFIX" && len(rest) > 1:
			o.Prefixes = append(o.Prefixes, rest[1])
			rest = rest[1:]
		case word == "REDIRECT" && len(rest) > 1:
			if err := o.redirect(rest[1]); err != nil {
				return o, err
			}
			rest = rest[1:]
		default:
			return o, resp.ErrSyntax
		}
	}
	var err error
	o.On, err = OnOff(line)
	return o, err
}

func (o *Tracking) redirect(word string) (err error) {
	if o.Redirected {
		return resp.ErrRedirectTwice
	}
	o.Redirected = true
	o.Redirect, err = Int(word)
	return err
}

// ClientCaching parses CLIENT CACHING YES|NO.
func ClientCaching(line []string) (yes bool, err error) {
	switch strings.ToUpper(line[2]) {
	case "YES":
		return true, nil
	case "NO":
		return false, nil
	}
	return false, resp.ErrSyntax
}
