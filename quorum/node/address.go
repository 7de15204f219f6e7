package node

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Errors of a node's URL. None of them repeats the URL, which may hold a password.
var (
	errURL      = errors.New("not a URL of the form redis://[user:password@]host:port, or rediss:// for TLS")
	errDatabase = errors.New("a node's URL names no database: database n of a client is database n on every node")
)

// address is where a node is and how to log in there.
type address struct {
	name    string // host and port, for people
	options redis.Options
}

// parseAddress reads a URL with the scheme redis or rediss, and perhaps with user and password
// (https://www.iana.org/assignments/uri-schemes/prov/redis).
func parseAddress(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "redis" && u.Scheme != "rediss") {
		return address{}, errURL
	}
	if u.Path != "" && u.Path != "/" || u.Query().Has("db") {
		return address{}, fmt.Errorf("%s: %w", u.Host, errDatabase)
	}
	if u.RawQuery != "" {
		return address{}, fmt.Errorf("%s: a node's URL has no parameters", u.Host)
	}
	options, err := redis.ParseURL(text)
	if err != nil {
		return address{}, fmt.Errorf("%s: %w", u.Host, errURL)
	}
	return address{name: options.Addr, options: *options}, nil
}

// client are the options of one connection to database db that never repeats a command and never dials by itself.
func (a *address) client(db int) *redis.Options {
	o := a.options
	o.DB = db
	o.Protocol = 2
	o.MaxRetries = -1
	o.PoolSize, o.PipelinePoolSize = 1, -1
	o.DialerRetries = 1
	o.ConnMaxIdleTime = -1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &o
}
