package args

import (
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// DefaultUser is the only user there is.
const DefaultUser = "default"

// Credentials are what a client authenticates with.
type Credentials struct {
	User, Password string
	Named          bool // the client gave a user name
}

// Auth parses AUTH [username] password.
func Auth(line []string) (Credentials, error) {
	switch len(line) {
	case 2:
		return Credentials{User: DefaultUser, Password: line[1]}, nil
	case 3:
		return Credentials{User: line[1], Password: line[2], Named: true}, nil
	}
	return Credentials{}, resp.ErrSyntax
}

// HelloOptions are the options of HELLO (https://redis.io/docs/latest/commands/hello/).
type HelloOptions struct {
	Protocol resp.Protocol // 0 when not given
	Auth     *Credentials
	Name     *string
}

// Hello parses HELLO [protover [AUTH username password] [SETNAME clientname]].
func Hello(line []string) (HelloOptions, error) {
	var o HelloOptions
	if len(line) == 1 {
		return o, nil
	}
	n, err := Int(line[1])
	switch {
	case err != nil:
		return o, resp.ErrNotProto
	case n < int64(resp.RESP2) || n > int64(resp.RESP3):
		return o, resp.ErrNoProto
	}
	o.Protocol = resp.Protocol(n)
	for r := From(line, 2); r.More(); {
		if err := o.option(r); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o *HelloOptions) option(r *Reader) error {
	word, _ := r.Word() // there is one
	switch {
	case strings.EqualFold(word, "AUTH") && r.Left() >= 2:
		c := Credentials{Named: true}
		c.User, _ = r.Word()
		c.Password, _ = r.Word()
		o.Auth = &c
		return nil
	case strings.EqualFold(word, "SETNAME") && r.More():
		name, _ := r.Word()
		o.Name = &name
		return checkName(name)
	}
	return resp.UnknownOption(word)
}

// checkName allows what fits into a field of CLIENT LIST.
func checkName(name string) error {
	if !printable(name) {
		return resp.ErrClientName
	}
	return nil
}

// printable tells whether s has only characters from '!' to '~', as validateClientName of Redis demands.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Ping checks PING [message].
func Ping(line []string) (struct{}, error) {
	if len(line) > 2 {
		return struct{}{}, resp.WrongArity("ping")
	}
	return struct{}{}, nil
}

// Select parses SELECT index.
func Select(line []string) (int, error) { return Database(line[1]) }

// PubSubChannels parses PUBSUB CHANNELS and PUBSUB SHARDCHANNELS [pattern]. Without a pattern all match.
func PubSubChannels(line []string) (pattern string, err error) {
	switch len(line) {
	case 2:
		return "*", nil
	case 3:
		return line[2], nil
	}
	return "", resp.WrongUse("PUBSUB", line[1])
}
