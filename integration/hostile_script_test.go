package integration

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

const (
	hostileTime   = 2 * time.Second
	hostileMemory = 512 << 20
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
	"endless coroutine":        {body: `local f = coroutine.wrap(function() while true do coroutine.yield() end end) while true do f() end`, keeps: true},
	"endless iterator":         {body: `for _ in function() return 1 end do end`},
	"endless metamethod":       {body: `local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) return t[1]`, keeps: true},
	"long numeric for":         {body: `for i = 1, 1e15 do end`},
	"doubling string":          {body: `local s = 'x' while true do s = s .. s end`},
	"doubling string in pcall": {body: `local s = 'x' while true do pcall(function() s = s .. s end) end`},
	"growing string":           {body: `local s = '' while true do s = s .. 'xxxxxxxxxxxxxxxx' end`},
	"string.rep of 2 GiB":      {body: `return #string.rep('x', 2147483647)`},
	"string.rep in pcall":      {body: `while true do pcall(string.rep, 'x', 2147483647) end`},
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
	"huge argument":            {body: `local s = string.rep('x', 1e6) for i = 1, 1e9 do redis.call('APPEND', KEYS[1], s) end`, keeps: true},
	"huge setrange":            {body: `for i = 1, 1e9 do redis.call('SETRANGE', 'range' .. i, 500000000, 'x') end`, keeps: true},
	"many reads":               {body: `local t = {} redis.call('SET', 'big', string.rep('x', 1e6)) for i = 1, 1e9 do t[i] = redis.call('GET', 'big') .. i end`},
	"sha1 of much":             {body: `local s = string.rep('x', 1e7) while true do redis.sha1hex(s) end`},
	"nested reply":             {body: `local t = {} t[1] = t return t`, keeps: true},
	"deep reply":               {body: `local t = {} for i = 1, 1e6 do t = {t} end return t`},
	"tostring bomb":            {body: `local t = setmetatable({}, {__tostring = function(t) return tostring(t) end}) return tostring(t)`, keeps: true},
}

// TestHostileScripts runs every script with a write before it. Each must end
// with an error in time and leave nothing behind, while another client is served.
func TestHostileScripts(t *testing.T) {
	s := harness.StartRedfenceWith(t, harness.Options{NoRace: true})
	harness.Dial(t, s.Addr).Want("OK", "SET", "innocent", "value")
	other := watchOtherClient(t, s)
	for _, name := range slices.Sorted(maps.Keys(hostileScripts)) {
		t.Run(name, func(t *testing.T) { runHostile(t, s, hostileScripts[name]) })
	}
	if worst := other.stop(); worst > hostileTime {
		t.Errorf("another client waited %v for a lock", worst)
	}
	wantSameAfterRestart(t, s)
}

func runHostile(t *testing.T, s *harness.Server, script hostileScript) {
	t.Helper()
	c := harness.Dial(t, s.Addr)
	before := withoutOther(contents(t, s.Addr))
	s.ResetPeak()
	watch := startWatch(s)
	reply := c.Do("EVAL", "redis.call('SET', KEYS[1], 'dirty') "+script.body, "1", "left behind")
	took := watch.took()
	t.Logf("%v, %d MiB, answered with %d bytes: %.200s", took, s.PeakRSS()>>20, len(reply.Raw), reply)
	if took > hostileTime {
		t.Errorf("took %v", took)
	}
	if !reply.IsError() || strings.Contains(reply.Text, "UNKNOWN") {
		t.Error("not the error of a refused script")
	}
	if peak := s.PeakRSS(); peak > hostileMemory {
		t.Errorf("memory reached %d MiB", peak>>20)
	}
	c = harness.Dial(t, s.Addr)
	if script.keeps {
		c.Do("DEL", "left behind")
	}
	if after := withoutOther(contents(t, s.Addr)); !slices.Equal(before, after) {
		t.Errorf("left behind: %.500v", after)
		c.Do("FLUSHALL")
	}
}

// stopwatch measures by the wall or by the server's processor time, whichever is
// less: a machine that is busy with other things slows the server down.
type stopwatch struct {
	s     *harness.Server
	began time.Time
	cpu   time.Duration
}

func startWatch(s *harness.Server) stopwatch {
	return stopwatch{s: s, began: time.Now(), cpu: s.CPU()}
}

func (w stopwatch) took() time.Duration { return min(time.Since(w.began), w.s.CPU()-w.cpu) }

// otherClient takes and gives back a lock of its own until it is stopped, and
// keeps the longest time that this took.
type otherClient struct {
	conn    *harness.Wire
	slowest time.Duration
	done    chan struct{}
}

func watchOtherClient(t *testing.T, s *harness.Server) *otherClient {
	t.Helper()
	c, err := harness.Open(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	other := &otherClient{conn: c, done: make(chan struct{})}
	go func() {
		defer close(other.done)
		for other.cycle(s) {
		}
	}()
	return other
}

// stop hangs up and returns the longest time.
func (o *otherClient) stop() time.Duration {
	_ = o.conn.Close()
	<-o.done
	return o.slowest
}

func (o *otherClient) cycle(s *harness.Server) bool {
	watch := startWatch(s)
	for _, command := range [][]string{{"SET", "other", "x", "NX", "PX", "10000"}, {"DEL", "other"}} {
		if _, err := o.conn.Do(command...); err != nil {
			return false
		}
	}
	o.slowest = max(o.slowest, watch.took())
	return true
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
