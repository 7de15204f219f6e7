package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

const (
	dialTimeout = time.Second
	// askTimeout bounds one question to a server, such as who the master is.
	askTimeout = 2 * time.Second
)

// target says where the upstream is and how to log in.
type target struct {
	name           string // for people, without credentials
	addr           string // of the server; empty with Sentinels
	sentinels      []string
	master         string
	user, password string
	secure         *tls.Config // nil for plain TCP
}

// Check tells what is wrong with the URL of an upstream. It must be one of
//
//	redis://[user:password@]host:port
//	rediss://[user:password@]host:port      the same over TLS
//	sentinel://[user:password@]host:port,host:port/master
//
// The credentials are those of the server, not of the Sentinels. The error does not repeat them.
func Check(url string) error {
	_, err := parse(url)
	return err
}

// parse reads a URL that Check describes.
func parse(raw string) (target, error) {
	scheme, rest, _ := strings.Cut(raw, "://")
	t := target{}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := t.login(rest[:at]); err != nil {
			return t, err
		}
		rest = rest[at+1:]
	}
	t.name = scheme + "://" + rest
	hosts, path, _ := strings.Cut(rest, "/")
	switch scheme {
	case "redis", "rediss":
		if path != "" {
			return t, fmt.Errorf("%s names a database or has parameters; leave them out, clients choose with SELECT", t.name)
		}
		t.addr = hosts
		if scheme == "rediss" {
			host, _, _ := net.SplitHostPort(hosts)
			t.secure = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
		}
		return t, checkAddr(hosts)
	case "sentinel":
		if path == "" || strings.ContainsAny(path, "/?") {
			return t, errors.New("it must end in the master's name: sentinel://host:26379,host:26379/mymaster")
		}
		t.master, t.sentinels = path, strings.Split(hosts, ",")
		for _, s := range t.sentinels {
			if err := checkAddr(s); err != nil {
				return t, err
			}
		}
		return t, nil
	}
	return t, errors.New("it must be redis://host:port, rediss://host:port or sentinel://host:port,.../master")
}

// login reads user:password, either of which may be percent-encoded.
func (t *target) login(text string) error {
	user, password, found := strings.Cut(text, ":")
	if !found {
		return errors.New("the credentials must be user:password, or :password")
	}
	var err1, err2 error
	t.user, err1 = url.PathUnescape(user)
	t.password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return errors.New("the credentials have a % that begins no code such as %40")
	}
	return nil
}

func checkAddr(addr string) error {
	if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
		return fmt.Errorf("%q is not host:port", addr)
	}
	return nil
}

// auth is the command that logs in, or nil.
func (t *target) auth() []string {
	switch {
	case t.password == "":
		return nil
	case t.user == "":
		return []string{"AUTH", t.password}
	}
	return []string{"AUTH", t.user, t.password}
}

// dial connects to the server that is the master now, returns its address as it was named, and notes how it went.
func (u *Upstream) dial(ctx context.Context) (net.Conn, string, error) {
	addr, err := u.target.resolve(ctx)
	var conn net.Conn
	if err == nil {
		conn, err = u.target.connect(ctx, addr)
	}
	if err != nil && ctx.Err() != nil && u.ctx.Err() == nil {
		return nil, "", err // given up, which tells nothing
	}
	u.tried(addr, err)
	return conn, addr, err
}

func (t *target) connect(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{
		Timeout:         dialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control:         limitSilence,
	}
	if t.secure != nil {
		return (&tls.Dialer{NetDialer: &d, Config: t.secure}).DialContext(ctx, "tcp", addr)
	}
	return d.DialContext(ctx, "tcp", addr)
}

// resolve returns the address of the server, asking the Sentinels one after the other
// (https://redis.io/docs/latest/develop/reference/sentinel-clients/).
func (t *target) resolve(ctx context.Context) (string, error) {
	if t.addr != "" {
		return t.addr, nil
	}
	var errs []error
	for _, s := range t.sentinels {
		addr, err := t.askSentinel(ctx, s)
		if err == nil {
			return addr, nil
		}
		errs = append(errs, fmt.Errorf("sentinel %s: %w", s, err))
	}
	return "", errors.Join(errs...)
}

func (t *target) askSentinel(ctx context.Context, addr string) (string, error) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	reply, err := newTalk(conn).ask(askTimeout, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", t.master)
	switch {
	case err != nil:
		return "", err
	case reply.IsErr():
		return "", errors.New(reply.Str)
	case len(reply.Elems) != 2:
		return "", fmt.Errorf("it knows no master %q", t.master)
	}
	return net.JoinHostPort(reply.Elems[0].Str, reply.Elems[1].Str), nil
}
