package runner

import (
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// form is what a well-known script of a lock library does: it compares a string with ARGV[1], and deletes it or sets
// its TTL to ARGV[2] when they are equal.
type form struct {
	extends              bool
	done, other, missing resp.Value // its replies: it did so, the string is another one, there is none
}

// argc is how many arguments the script reads.
func (f *form) argc() int {
	if f.extends {
		return 2
	}
	return 1
}

// reply is the script's reply for what happened, see lua/lean/release.lua.
func (t *Text) reply(what int64) resp.Value {
	switch what {
	case 1:
		return t.form.done
	case 0:
		return t.form.other
	case -1:
		return t.form.missing
	}
	return resp.Err(string(resp.ErrWrongType) + " script: " + t.SHA + ", on @user_script:" + strconv.Itoa(t.firstCall) + ".")
}

// The scripts, in the spelling that canonical gives them.
const (
	cGet     = "redis.call('get',KEYS[1])"
	cIf      = "if " + cGet + "==ARGV[1] then "
	cIfNot   = "if " + cGet + "~=ARGV[1] then "
	cLet     = "local v1=" + cGet + " "
	cUnless  = cLet + "if not v1 or v1~=ARGV[1] then return 0 end "
	cDel     = "redis.call('del',KEYS[1])"
	cUnlink  = "redis.call('unlink',KEYS[1])"
	cPExpire = "redis.call('pexpire',KEYS[1],ARGV[2])"
)

// forms are the scripts that are known. Where they come from:
//   - https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/, which many libraries have copied
//   - redsync, redis/redsync mutex.go: deleteScript, touchScript
//   - redis-py, redis/lock.py: LUA_RELEASE_SCRIPT, LUA_REACQUIRE_SCRIPT
//   - Spring Integration, RedisLockRegistry: the scripts that delete and unlink
var forms = func() map[string]*form {
	one, zero, none := resp.Int(1), resp.Int(0), resp.Value{}
	known := map[string]*form{}
	add := func(text string, f form) { known[canonical(text)] = &f }
	for _, end := range []string{"else return 0 end", "end return 0"} {
		add(cIf+"return "+cDel+" "+end, form{false, one, zero, zero})
		add(cIf+"return "+cUnlink+" "+end, form{false, one, zero, zero})
		add(cIf+"return "+cPExpire+" "+end, form{true, one, zero, zero})
	}
	for _, then := range []string{"return 0 end return ", "return 0 else return "} {
		end := strings.Repeat(" end", strings.Count(then, "else"))
		add(cIfNot+then+cDel+end, form{false, one, zero, zero})
		add(cIfNot+then+cUnlink+end, form{false, one, zero, zero})
		add(cIfNot+then+cPExpire+end, form{true, one, zero, zero})
	}
	for _, del := range []string{cDel, cUnlink} {
		add(cLet+"if v1==ARGV[1] then return "+del+" elseif v1==false then return -1 else return 0 end",
			form{false, one, zero, resp.Int(-1)})
		add(cLet+"if v1==ARGV[1] then "+del+" return true end return false", form{false, one, none, none})
		add(cIf+del+" return true end return false", form{false, one, none, none})
		add(cUnless+del+" return 1", form{false, one, zero, zero})
	}
	add(cUnless+cPExpire+" return 1", form{true, one, zero, zero})
	return known
}()

// canonical writes a script in one way: without comments, with one blank at most between words, strings in single
// quotes and lower case, local variables by the order of their declaration. It is meant to be compared with other
// texts in the same spelling, so a form must not depend on what it takes away.
func canonical(text string) string {
	var out strings.Builder
	locals, declared, last := map[string]string{}, false, ""
	for text != "" {
		var word string
		word, text = nextToken(text)
		if word == "" {
			continue
		}
		if declared {
			locals[word] = "v" + strconv.Itoa(len(locals)+1)
		}
		declared = word == "local"
		if name, ok := locals[word]; ok && last != "." {
			word = name
		}
		if last != "" && isWord(last[len(last)-1]) && isWord(word[0]) {
			out.WriteByte(' ')
		}
		out.WriteString(word)
		last = word
	}
	return out.String()
}

// nextToken cuts the first token off; it is empty for blanks, comments and semicolons.
func nextToken(s string) (token, rest string) {
	n := 0
	switch c := s[0]; {
	case strings.HasPrefix(s, "--[["):
		_, rest, _ = strings.Cut(s, "]]")
		return "", rest
	case strings.HasPrefix(s, "--"):
		_, rest, _ = strings.Cut(s, "\n")
		return "", rest
	case strings.IndexByte(" \t\r\n;", c) >= 0:
		return "", s[1:]
	case c == '"' || c == '\'':
		end := strings.IndexByte(s[1:], c)
		if end < 0 || strings.IndexByte(s[1:end+1], '\\') >= 0 {
			return s, "" // none that is known
		}
		return "'" + strings.ToLower(s[1:end+1]) + "'", s[end+2:]
	case isWord(c):
		for n < len(s) && isWord(s[n]) {
			n++
		}
		return s[:n], s[n:]
	}
	for _, op := range []string{"==", "~=", "..", "<=", ">="} {
		if strings.HasPrefix(s, op) {
			return op, s[2:]
		}
	}
	return s[:1], s[1:]
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
