package proxy

import (
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
)

// handler answers a local command. One of its functions is set.
type handler struct {
	atOnce bool // runs inside MULTI as well, where other commands are queued
	// now runs on the reader, in front of replies that are still awaited: for what changes or tells the session.
	now func(*session, *commands.Request) resp.Value
	// later changes the session on the reader, and returns the rest: the effect on others and the reply, which wait
	// until all earlier commands of the session are answered. The rest may run on the writer, so it must not touch
	// what belongs to the reader.
	later func(*session, *commands.Request) func() []resp.Value
	// listen is like later, and the effect and the reply also wait until the backend listens to topics.
	listen func(*session, *commands.Request) ([]Topic, func() []resp.Value)
	// own enters the reply itself.
	own func(*session, *commands.Request)
}

// newHandlers indexes the local commands of a table by the IDs of their rows.
func newHandlers(table *commands.Table, named map[string]handler) []handler {
	list := make([]handler, len(table.All()))
	for _, spec := range table.All() {
		list[spec.ID] = named[spec.Name]
	}
	return list
}

// localHandlers are the commands that the front end answers itself: those whose class is Local in every mode.
func localHandlers() map[string]handler {
	now := func(f func(*session, *commands.Request) resp.Value) handler { return handler{now: f} }
	accepted := now(func(*session, *commands.Request) resp.Value { return resp.OK() })
	h := map[string]handler{
		"auth": now(auth), "echo": now(echo), "hello": now(hello), "ping": now(ping), "quit": {now: quit, atOnce: true},
		"reset": {later: reset, atOnce: true}, "select": now(selectDB),

		"multi": {now: multi, atOnce: true}, "exec": {own: execute, atOnce: true}, "discard": {now: discard, atOnce: true},
		"watch": {own: watch, atOnce: true}, "unwatch": now(unwatch),

		"client|caching": now(clientCaching), "client|capa": accepted, "client|getname": now(clientGetName), "client|getredir": now(clientGetRedir),
		"client|id": now(clientID), "client|info": now(clientInfo), "client|list": now(clientList),
		"client|no-evict": accepted, "client|no-touch": accepted, "client|reply": now(clientReply), "client|fencing": now(clientFencing),
		"client|setinfo": now(clientSetInfo), "client|setname": now(clientSetName),
		"client|tracking": {listen: clientTracking}, "client|trackinginfo": now(clientTrackingInfo),
		"client|kill": now(clientKill), "client|pause": now(clientPause),
		"client|unpause": now(clientUnpause), "client|unblock": now(clientUnblock),

		"asking": accepted, "readonly": accepted, "readwrite": accepted,

		"latency|history": now(nothing), "latency|latest": now(nothing), "latency|reset": now(zero),
		"slowlog|get": now(nothing), "slowlog|len": now(zero), "slowlog|reset": accepted, "debug": refusing(resp.ErrNoDebug),

		"info": now(info), "role": now(role), "time": now(clock), "wait": now(waitReplicas), "waitaof": now(waitAOF),
		"config|get": now(configGet), "config|set": now(configSet),
		"config|rewrite": refusing(resp.ErrNoConfigFile), "config|resetstat": now(configResetStat),
		"command": now(commandAll), "command|count": now(commandCount), "command|docs": now(commandDocs),
		"command|getkeys": now(commandGetKeys), "command|info": now(commandInfo), "command|list": now(commandList),

		"subscribe": subscribe(hub.Channel, "subscribe"), "unsubscribe": unsubscribe(hub.Channel, "unsubscribe"),
		"psubscribe": subscribe(hub.Pattern, "psubscribe"), "punsubscribe": unsubscribe(hub.Pattern, "punsubscribe"),
		"ssubscribe": subscribe(hub.Shard, "ssubscribe"), "sunsubscribe": unsubscribe(hub.Shard, "sunsubscribe"),
		"pubsub|channels": pubsubNames(hub.Channel), "pubsub|shardchannels": pubsubNames(hub.Shard),
		"pubsub|numsub": pubsubCounts(hub.Channel), "pubsub|shardnumsub": pubsubCounts(hub.Shard),
		"pubsub|numpat": afterwards(pubsubPatterns),

		"redfence|member": {own: administer}, "redfence|status": {own: administer},

		"script|kill": refusing(resp.ErrNotBusy), "script|debug": now(scriptDebug),
	}
	for _, spec := range commands.All() {
		if spec.Flags.Has(commands.Blocking) {
			h[spec.Name] = handler{own: block}
		}
		if strings.HasSuffix(spec.Name, "|help") && spec.Raft == commands.Local && spec.Group != commands.Cluster {
			h[spec.Name] = now(help)
		}
		if spec.Group == commands.Cluster && spec.Sub == nil && h[spec.Name].now == nil {
			h[spec.Name] = refusing(resp.ErrNoCluster)
		}
	}
	return h
}

func nothing(*session, *commands.Request) resp.Value { return resp.Arr() }

func zero(*session, *commands.Request) resp.Value { return resp.Int(0) }

// refusing answers an error, whatever the arguments.
func refusing(why resp.Failure) handler {
	return handler{now: func(*session, *commands.Request) resp.Value { return why.Value() }}
}
