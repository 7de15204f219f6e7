// Package matrix keeps docs/clients.md: which clients there are, how each is pointed at redfence, and what happened when
// the suites let it work. Rows say the first two, results of test runs the third, and the document is rendered from both.
package matrix

import (
	"slices"
	"strings"
)

// Row is a client of a version.
type Row struct {
	ID        string    // what the suites call it: words with dashes
	Client    string    // what the world calls it
	Program   string    // directory of integration/clients that exercises it; empty when the tests play what it sends
	Packages  []Package // the client, and then what it runs on
	Direct    string    // the line that changes in its configuration
	Sentinels string    // the same when it finds its master through Sentinels; empty when it knows none
}

const (
	jvmAddress   = `setAddress("redis://redfence:6380")`
	jvmSentinels = `setMasterName("mymaster").addSentinelAddress("redis://redfence-1:26379", "redis://redfence-2:26379")`

	springAddress   = `spring.data.redis.url: redis://redfence:6380`
	springSentinels = `spring.data.redis.sentinel: {master: mymaster, nodes: "redfence-1:26379,redfence-2:26379"}`

	goRedisAddress   = `redis.NewClient(&redis.Options{Addr: "redfence:6380"})`
	goRedisSentinels = `redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{"redfence-1:26379"}})`

	rueidisAddress   = `rueidis.ClientOption{InitAddress: []string{"redfence:6380"}}`
	rueidisSentinels = `rueidis.ClientOption{InitAddress: []string{"redfence-1:26379"}, Sentinel: rueidis.SentinelOption{MasterSet: "mymaster"}}`

	pythonAddress   = `Redis(host="redfence", port=6380)`
	pythonSentinels = `Sentinel([("redfence-1", 26379), ("redfence-2", 26379)]).master_for("mymaster")`

	phpAddress  = `$redis->connect("redfence", 6380)`
	rustAddress = `redis://redfence:6380`

	rubyAddress   = `Redis.new(url: "redis://redfence:6380")`
	rubySentinels = `Redis.new(url: "redis://mymaster", sentinels: [{host: "redfence-1", port: 26379}])`

	ioredisAddress   = `new Redis({host: "redfence", port: 6380})`
	ioredisSentinels = `new Redis({name: "mymaster", sentinels: [{host: "redfence-1", port: 26379}]})`
)

// Rows are all clients, in the order of the document.
func Rows() []Row {
	const jedis, lettuce = "pom.xml:jedis", "pom.xml:lettuce-core"
	const integration, shedlock = "pom.xml:spring-integration-redis", "pom.xml:shedlock-provider-redis-spring"
	const ioredis6, ioredis5 = "package.json:ioredis", "package.json:ioredis5"
	const goRedis, rueidis = "go.mod:github.com/redis/go-redis/v9", "go.mod:github.com/redis/rueidis"
	const redsync = "go.mod:github.com/go-redsync/redsync/v4"
	const phpredis, redisRs, redisRb = "dpkg:php-redis", "Cargo.toml:redis", "dpkg:ruby-redis"
	const redisPy = "requirements.txt:redis"
	return []Row{
		{"redisson", "Redisson", "redisson", packages("pom.xml:redisson"), jvmAddress, jvmSentinels},
		{"redisson-327", "Redisson", "redisson327", packages("pom.xml:redisson"), jvmAddress, jvmSentinels},
		{"redisson-316", "Redisson", "redisson316", packages("pom.xml:redisson"), jvmAddress, jvmSentinels},
		{
			"jedis", "Jedis", "jvm", packages(jedis), `new JedisPooled("redfence", 6380)`,
			`new JedisSentinelPool("mymaster", Set.of("redfence-1:26379"))`,
		},
		{
			"lettuce", "Lettuce", "jvm", packages(lettuce), `redis://redfence:6380`,
			`redis-sentinel://redfence-1:26379,redfence-2:26379#mymaster`,
		},
		{
			"spring", "redisson-spring-boot-starter, Spring Data Redis", "spring",
			packages("pom.xml:redisson-spring-boot-starter", lettuce), springAddress,
			springSentinels,
		},
		{"registry-7", "Spring Integration RedisLockRegistry", "springlocks7", packages(integration, lettuce, jedis), springAddress, springSentinels},
		{"registry-6", "Spring Integration RedisLockRegistry", "springlocks", packages(integration, lettuce, jedis), springAddress, springSentinels},
		{"shedlock-7", "ShedLock", "springlocks7", packages(shedlock, lettuce, jedis), springAddress, springSentinels},
		{"shedlock-6", "ShedLock", "springlocks", packages(shedlock, lettuce, jedis), springAddress, springSentinels},
		{"redis-py", "redis-py", "python", packages(redisPy), pythonAddress, pythonSentinels},
		{"python-redis-lock", "python-redis-lock", "python", packages("requirements.txt:python-redis-lock", redisPy), pythonAddress, pythonSentinels},
		{"pottery", "pottery", "python", packages("requirements.txt:pottery", redisPy), pythonAddress, pythonSentinels},
		{"go-redis", "go-redis", "golang", packages(goRedis), goRedisAddress, goRedisSentinels},
		{"redsync-on-go-redis", "redsync", "golang", packages(redsync, goRedis), goRedisAddress, goRedisSentinels},
		{
			"redsync-on-redigo", "redsync", "golang", packages(redsync, "go.mod:github.com/gomodule/redigo"),
			`redis.Dial("tcp", "redfence:6380")`, "",
		},
		{"redsync-on-rueidis", "redsync", "golang", packages(redsync, rueidis), rueidisAddress, rueidisSentinels},
		{"redislock", "bsm/redislock", "golang", packages("go.mod:github.com/bsm/redislock", goRedis), goRedisAddress, goRedisSentinels},
		{"rueidis", "rueidis", "golang", packages(rueidis), rueidisAddress, rueidisSentinels},
		{"rueidislock", "rueidislock", "golang", packages(rueidis), rueidisAddress, rueidisSentinels},
		{"ioredis", "ioredis", "node", packages(ioredis6), ioredisAddress, ioredisSentinels},
		{"ioredis-5", "ioredis", "node", packages(ioredis5), ioredisAddress, ioredisSentinels},
		{"redlock-5", "redlock", "node", packages("package.json:redlock5", ioredis6, ioredis5), ioredisAddress, ioredisSentinels},
		{"redlock-4", "redlock", "node", packages("package.json:redlock4", ioredis6, ioredis5), ioredisAddress, ioredisSentinels},
		{
			"sesamecare-redlock", "@sesamecare-oss/redlock", "node",
			packages("package.json:@sesamecare-oss/redlock", ioredis6, ioredis5), ioredisAddress, ioredisSentinels,
		},
		{
			"redis-semaphore", "redis-semaphore", "node",
			packages("package.json:redis-semaphore", ioredis6, ioredis5), ioredisAddress, ioredisSentinels,
		},
		{
			"redlock-universal", "redlock-universal", "node",
			packages("package.json:redlock-universal", ioredis6, ioredis5, "package.json:redis"), ioredisAddress, ioredisSentinels,
		},
		{
			"node-redis", "node-redis", "node", packages("package.json:redis"), `createClient({url: "redis://redfence:6380"})`,
			`createSentinel({name: "mymaster", sentinelRootNodes: [{host: "redfence-1", port: 26379}]})`,
		},
		{"symfony-lock", "Symfony Lock", "php", packages("dpkg:php-symfony-lock", phpredis), phpAddress, ""},
		{"phpredis", "phpredis", "php", packages(phpredis), phpAddress, ""},
		{"rslock", "rslock", "rust", packages("Cargo.toml:rslock", redisRs), rustAddress, ""},
		{
			"redis-rs", "redis-rs", "rust", packages(redisRs), rustAddress,
			`SentinelClient::build(vec!["redis://redfence-1:26379"], String::from("mymaster"), None, SentinelServerType::Master)`,
		},
		{"redis-rb", "redis-rb", "ruby", packages(redisRb), rubyAddress, rubySentinels},
		{"redlock-rb", "redlock-rb", "", packages("played:2.0"), `Redlock::Client.new(["redis://redfence:6380"])`, ""},
		{
			"stackexchange-redis", "StackExchange.Redis, RedLock.net", "", packages("played:3.0"),
			`ConnectionMultiplexer.Connect("redfence:6380")`, `ConnectionMultiplexer.Connect("redfence-1:26379,serviceName=mymaster")`,
		},
		{"redis-cli", "redis-cli", "rediscli", nil, `redis-cli -h redfence -p 6380`, ""},
		{"redis-benchmark", "redis-benchmark", "rediscli", nil, `redis-benchmark -h redfence -p 6380`, ""},
	}
}

// Find is the row that a run of the suites is about: its ID is the name, or its first words. The longest one counts, so
// that ioredis-5 is not ioredis, while ioredis-6-resp3 is.
func Find(name string) (Row, bool) {
	rows := Rows()
	for {
		if i := slices.IndexFunc(rows, func(r Row) bool { return r.ID == name }); i >= 0 {
			return rows[i], true
		}
		cut := strings.LastIndex(name, "-")
		if cut < 0 {
			return Row{}, false
		}
		name = name[:cut]
	}
}
