package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// expiryHandlers are the commands of https://redis.io/docs/latest/commands/?group=generic that are about TTLs.
func expiryHandlers() map[string]handler {
	return map[string]handler{
		"expire":      expire,
		"pexpire":     expire,
		"expireat":    expire,
		"pexpireat":   expire,
		"persist":     persist,
		"ttl":         ttl,
		"pttl":        pttl,
		"expiretime":  expiretime,
		"pexpiretime": pexpiretime,
	}
}

// expire implements EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT (https://redis.io/docs/latest/commands/expire/). A time
// that is past deletes the key.
func expire(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.ExpireOptions)
	if t.tooFar(opts.Expiry) {
		return resp.InvalidExpire(r.Spec.Name).Value()
	}
	o := t.find(r.Args[1])
	if o == nil {
		return resp.Int(0)
	}
	deadline, absolute := t.deadlineOf(opts.Expiry)
	switch same := sameExpiry(o, deadline, absolute); {
	case !allowed(opts.When, o.deadline, deadline, same):
		return resp.Int(0)
	case same:
	case t.over(deadline):
		t.replace(o.key, nil)
	default:
		t.setDeadline(t.own(o), deadline, absolute)
	}
	return resp.Int(1)
}

// allowed tells whether the conditions of EXPIRE let a deadline replace the present one, 0 for never.
func allowed(when args.ExpireCondition, present, next int64, same bool) bool {
	switch {
	case when&args.IfNoTTL != 0 && present != 0,
		when&args.IfTTL != 0 && present == 0,
		when&args.IfGreater != 0 && (same || present == 0 || next <= present),
		when&args.IfLess != 0 && (same || (present != 0 && next >= present)):
		return false
	}
	return true
}

func persist(t *Txn, r *commands.Request) resp.Value {
	o := t.find(r.Args[1])
	if o == nil || o.deadline == 0 {
		return resp.Int(0)
	}
	t.setDeadline(t.own(o), 0, 0)
	return resp.Int(1)
}

func ttl(t *Txn, r *commands.Request) resp.Value { return t.time(r, t.ttl, inSeconds) }

func pttl(t *Txn, r *commands.Request) resp.Value { return t.time(r, t.ttl, inMillis) }

func expiretime(t *Txn, r *commands.Request) resp.Value { return t.time(r, t.expireTime, inSeconds) }

func pexpiretime(t *Txn, r *commands.Request) resp.Value { return t.time(r, t.expireTime, inMillis) }

// time answers a time of a key: -2 for an absent key, -1 for one without TTL.
func (t *Txn) time(r *commands.Request, of func(*object) int64, unit func(int64) int64) resp.Value {
	o := t.find(r.Args[1])
	if o == nil {
		return resp.Int(-2)
	}
	return resp.Int(unit(of(o)))
}

func inMillis(ms int64) int64 { return ms }

// inSeconds rounds to the nearest second, as Redis does; the negative answers stay.
func inSeconds(ms int64) int64 {
	if ms < 0 {
		return ms
	}
	return ms/1000 + ms%1000/500
}
