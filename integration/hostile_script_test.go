package integration

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

const (
	hostileTime   = 2 * time.Second
	hostileMemory = 512 << 20
	hostileReply  = 64 << 10 // an error text longer than this is an attack of its own
)

// hostileScript never ends, or wants more memory than there is.
type hostileScript struct {
	body string
	// keeps is for what is an ordinary Lua error in Redis too, which keeps the
	// script's earlier writes.
	keeps bool
}

var hostileScripts = map[string]hostileScript{
	"endless loop":             {body: `while true do end`},
	"endless goto-less repeat": {body: `repeat until false`},
	"endless pcall":            {body: `while true do pcall(function() while true do end end) end`},
	"endless pcall of errors":  {body: `while true do pcall(error, 'x') end`},
	"endless redis.pcall":      {body: `while true do redis.pcall('NOSUCH') end`},
	"endless writes":           {body: `local i = 0 while true do i = i + 1 redis.call('SET', 'k' .. i, i) end`},
	"endless coroutine":        {body: `local f = coroutine.wrap(function() while true do coroutine.yield() end end) while true do f() end`},
	"endless iterator":         {body: `for _ in function() return 1 end do end`},
	"endless metamethod":       {body: `local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) return t[1]`},
	"long numeric for":         {body: `for i = 1, 1e15 do end`},
	"doubling string":          {body: `local s = 'x' while true do s = s .. s end`},
	"doubling string in pcall": {body: `local s = 'x' while true do pcall(function() s = s .. s end) end`},
	"growing string":           {body: `local s = '' while true do s = s .. 'xxxxxxxxxxxxxxxx' end`},
	"string.rep of 2 GiB":      {body: `return #string.rep('x', 2147483648)`},
	"string.rep in pcall":      {body: `while true do pcall(string.rep, 'x', 2147483648) end`},
	"many string.reps":         {body: `local t = {} for i = 1, 1e9 do t[i] = string.rep('x' .. i, 1000000) end`},
	"string.rep method":        {body: `return #(('x'):rep(1e9)):rep(1e9)`},
	"backtracking pattern":     {body: `return string.find(string.rep('a', 50000), string.rep('a-', 30) .. 'b')`},
	"backtracking gsub":        {body: `return string.gsub(string.rep('a', 50000), string.rep('a*', 30) .. 'b', '')`},
	"backtracking gmatch":      {body: `for w in string.gmatch(string.rep('a', 50000), string.rep('.-', 20) .. 'b') do end`},
	"table bomb":               {body: `local t = {} local i = 0 while true do i = i + 1 t[i] = {i} end`},
	"hash table bomb":          {body: `local t = {} local i = 0 while true do i = i + 1 t['k' .. i] = i end`},
	"closure bomb":             {body: `local t = {} while true do t[#t + 1] = function() return t end end`},
	"huge index":               {body: `local t = {} for i = 1, 1e9 do t[i * 1000000] = i end`},
	"deep recursion":           {body: `local function f(n) return 1 + f(n + 1) end return f(1)`, keeps: true},
	"endless tail call":        {body: `local function f(n) return f(n + 1) end return f(1)`},
	"deep pcall":               {body: `local function f() return pcall(f) end f() while true do end`},
	"huge unpack":              {body: `return #{unpack({}, 1, 1e8)}`, keeps: true},
	"huge select":              {body: `local t = {} for i = 1, 1e6 do t[i] = i end while true do select('#', unpack(t, 1, 7000)) end`},
	"huge concat":              {body: `local t = {} for i = 1, 1000 do t[i] = string.rep('x', 100000) end while true do t[1] = table.concat(t) end`},
	"gsub bomb":                {body: `return #string.gsub(string.rep('x', 1e6), 'x', string.rep('y', 1e6))`},
	"gsub bomb with captures":  {body: `local s = 'x' while true do s = string.gsub(s, '(.+)', '%1%1') end`},
	"gsub bomb by function":    {body: `local big = string.rep('y', 1e6) return #string.gsub(string.rep('x', 1e6), 'x', function() return big end)`},
	"wide format":              {body: `return #string.format('%2000000000d', 1)`, keeps: true},
	"many formats":             {body: `local s = string.rep('x', 1e6) while true do s = string.format('%s%s', s, s) end`},
	"quoted format":            {body: `local s = string.rep('"', 1e6) while true do s = string.format('%q', s) end`},
	"huge error message":       {body: `local s = string.rep('x', 1e7) error(s .. s .. s)`, keeps: true},
	"huge error reply":         {body: `while true do pcall(error, string.rep('x', 1e7)) end`},
	"huge upper":               {body: `local s = string.rep('x', 1e6) local t = {} while true do t[#t + 1] = string.upper(s .. #t) end`},
	"huge reverse":             {body: `local s = string.rep('x', 1e6) local t = {} while true do t[#t + 1] = string.reverse(s .. #t) end`},
	"huge char":                {body: `local t = {} while true do t[#t + 1] = string.char(unpack({1, 2, 3, 4, 5, 6, 7, 8}, 1, 8)) .. #t end`},
	"huge sort":                {body: `local t = {} for i = 1, 1e7 do t[i] = -i end table.sort(t) while true do end`},
	"endless sort":             {body: `table.sort({3, 2, 1}, function() while true do end end)`},
	"endless gsub function":    {body: `string.gsub('x', '.', function() while true do end end)`},
	"endless loadstring":       {body: `while true do loadstring('return 1')() end`},
	"huge loadstring":          {body: `return loadstring('return "' .. string.rep('x', 1e9) .. '"')()`},
	"loaded endless loop":      {body: `loadstring('while true do end')()`},
	"huge argument":            {body: `local s = string.rep('x', 1e6) for i = 1, 1e9 do redis.call('APPEND', KEYS[1], s) end`},
	"huge setrange":            {body: `for i = 1, 1e9 do redis.call('SETRANGE', 'range' .. i, 500000000, 'x') end`},
	"many reads":               {body: `local t = {} redis.call('SET', 'big', string.rep('x', 1e6)) for i = 1, 1e9 do t[i] = redis.call('GET', 'big') .. i end`},
	"sha1 of much":             {body: `local s = string.rep('x', 1e7) while true do redis.sha1hex(s) end`},
	"nested reply":             {body: `local t = {} t[1] = t return t`},
	"deep reply":               {body: `local t = {} for i = 1, 1e6 do t = {t} end return t`},
	"tostring bomb":            {body: `local t = setmetatable({}, {__tostring = function(t) return tostring(t) end}) return tostring(t)`},
}

// TestHostileScripts runs every script with a write before it. Each must end
// with an error in time and leave nothing behind, while another client is served.
func TestHostileScripts(t *testing.T) {
	s := harness.StartRedfenceWith(t, harness.Options{NoRace: true})
	harness.Dial(t, s.Addr).Want("OK", "SET", "innocent", "value")
	slowest := watchOtherClient(t, s.Addr)
	for name, script := range hostileScripts {
		t.Run(name, func(t *testing.T) {
			c := harness.Dial(t, s.Addr)
			before := withoutOther(contents(t, s.Addr))
			began := time.Now()
			reply := c.Do("EVAL", "redis.call('SET', KEYS[1], 'dirty') "+script.body, "1", "left behind")
			if took := time.Since(began); took > hostileTime {
				t.Errorf("took %v", took)
			}
			if !reply.IsError() || len(reply.Raw) > hostileReply {
				t.Errorf("answered with %d bytes: %.300s", len(reply.Raw), reply)
			}
			if peak := s.PeakRSS(); peak > hostileMemory {
				t.Errorf("memory reached %d MiB", peak>>20)
			}
			if script.keeps {
				c.Do("DEL", "left behind")
			}
			if after := withoutOther(contents(t, s.Addr)); !slices.Equal(before, after) {
				t.Errorf("left behind: %.500v", after)
				c.Do("FLUSHALL")
			}
		})
	}
	if worst := time.Duration(slowest.Load()); worst > hostileTime {
		t.Errorf("another client waited %v for a lock", worst)
	}
	wantSameAfterRestart(t, s)
}

// watchOtherClient takes and gives back a lock of its own until the test ends,
// and keeps the longest time that one cycle took.
func watchOtherClient(t *testing.T, addr string) *atomic.Int64 {
	t.Helper()
	var slowest atomic.Int64
	c, err := harness.Open(addr)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			began := time.Now()
			if _, err := c.Do("SET", "other", "x", "NX", "PX", "10000"); err != nil {
				return
			}
			if _, err := c.Do("DEL", "other"); err != nil {
				return
			}
			slowest.Store(max(slowest.Load(), int64(time.Since(began))))
		}
	}()
	t.Cleanup(func() {
		_ = c.Close()
		<-done
	})
	return &slowest
}

// wantSameAfterRestart replays the log of all that was refused.
func wantSameAfterRestart(t *testing.T, s *harness.Server) {
	t.Helper()
	before := withoutOther(contents(t, s.Addr))
	began := time.Now()
	s.Restart()
	t.Logf("restarted in %v", time.Since(began))
	if after := withoutOther(contents(t, s.Addr)); !slices.Equal(before, after) {
		t.Errorf("the restart turned\n%.2000v\ninto\n%.2000v", before, after)
	}
	if peak := s.PeakRSS(); peak > hostileMemory {
		t.Errorf("memory reached %d MiB in the replay", peak>>20)
	}
}

// withoutOther leaves out the lock that watchOtherClient takes all the time.
func withoutOther(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, `0 "other" `) })
}

// TestHostileScriptsAtOnce runs many of them on many connections together.
func TestHostileScriptsAtOnce(t *testing.T) {
	s := harness.StartRedfenceWith(t, harness.Options{NoRace: true})
	for _, name := range []string{"doubling string", "table bomb", "string.rep of 2 GiB", "gsub bomb"} {
		t.Run(name, func(t *testing.T) {
			var conns []*harness.Conn
			for range 8 {
				c := harness.Dial(t, s.Addr)
				c.Send("EVAL", hostileScripts[name].body, "0")
				conns = append(conns, c)
			}
			for _, c := range conns {
				if reply := c.Receive(); !reply.IsError() {
					t.Errorf("answered %.300s", reply)
				}
			}
			if peak := s.PeakRSS(); peak > hostileMemory {
				t.Errorf("memory reached %d MiB", peak>>20)
			}
			harness.Dial(t, s.Addr).Want("OK", "SET", "after", name)
		})
	}
}

// TestOrdinaryScriptErrorKeepsItsWrites is the other side: what is no budget
// error behaves as in Redis.
func TestOrdinaryScriptErrorKeepsItsWrites(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		reply := c.Do("EVAL", "redis.call('SET', KEYS[1], 'kept') error('stop')", "1", "k")
		if !reply.IsError() {
			t.Fatalf("answered %s", reply)
		}
		c.Want(`"kept"`, "GET", "k")
	})
}
