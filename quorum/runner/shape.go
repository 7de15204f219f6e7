package runner

import (
	"strconv"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// Programs run commands in RESP2, where an array with nothing in some places keeps its length in Lua. This gives
// replies the types of RESP3 back. Replies of scripts need it not: Lua knows what they are.

// shape gives the reply of a run its types.
func (r *Run) shape(v resp.Value) resp.Value {
	if r.Text != nil {
		return v
	}
	if !r.Block {
		return shape(r.Requests[0], v)
	}
	for i := range v.Elems {
		if i < len(r.Requests) && r.textOf(i) == nil && r.given(i) == nil {
			v.Elems[i] = shape(r.Requests[i], v.Elems[i])
		}
	}
	return v
}

func shape(r *commands.Request, v resp.Value) resp.Value {
	if v.IsErr() {
		return v
	}
	switch r.Spec.Name {
	case "hgetall", "lcs":
		return kind(v, resp.Map)
	case "smembers", "sinter", "sunion", "sdiff":
		return kind(v, resp.Set)
	case "spop":
		if len(r.Args) > 2 {
			return kind(v, resp.Set)
		}
	case "zscore", "zincrby":
		return double(v)
	case "zadd":
		if v.Kind == resp.Bulk {
			return double(v)
		}
	case "zmscore":
		return doubles(v, 1)
	case "lpop", "rpop":
		if len(r.Args) > 2 {
			return noArray(v)
		}
	case "lmpop", "blmpop":
		return noArray(v)
	case "blpop", "brpop":
		return flat(noArray(v))
	}
	return shapeZSet(r, v)
}

// shapeZSet is shape for commands that answer members with scores, or fields with values.
func shapeZSet(r *commands.Request, v resp.Value) resp.Value {
	switch r.Spec.Name {
	case "hrandfield":
		if len(r.Args) > 3 {
			return kind(v, resp.Pairs)
		}
	case "zrandmember":
		if len(r.Args) > 3 {
			return kind(doubles(v, 2), resp.Pairs)
		}
	case "zpopmin", "zpopmax":
		if len(r.Args) > 2 {
			return kind(doubles(v, 2), resp.Pairs)
		}
		return doubles(v, 2)
	case "zmpop", "bzmpop":
		return popped(noArray(v))
	case "bzpopmin", "bzpopmax":
		return flat(flat(popped(noArray(v))))
	case "zrange", "zrevrange", "zrangebyscore", "zrevrangebyscore", "zunion", "zinter", "zdiff":
		if withScores(r) {
			return kind(doubles(v, 2), resp.Pairs)
		}
	}
	return v
}

// withScores tells whether a request asks for scores. The options of ranges know; those of unions end with it.
func withScores(r *commands.Request) bool {
	for _, word := range r.Args[3:] {
		if args.Is(word, "WITHSCORES") {
			return true
		}
	}
	return false
}

func kind(v resp.Value, k resp.Kind) resp.Value {
	if v.Kind == resp.Array {
		v.Kind = k
	}
	return v
}

func noArray(v resp.Value) resp.Value {
	if v.Kind == resp.Null {
		v.Kind = resp.NullArray
	}
	return v
}

// double makes a number of a bulk string.
func double(v resp.Value) resp.Value {
	if v.Kind != resp.Bulk {
		return v
	}
	f, err := strconv.ParseFloat(v.Str, 64)
	if err != nil {
		return v
	}
	return resp.Float(f)
}

// doubles makes numbers of the last of each step elements.
func doubles(v resp.Value, step int) resp.Value {
	for i := step - 1; i < len(v.Elems); i += step {
		v.Elems[i] = double(v.Elems[i])
	}
	return v
}

// popped is the reply of ZMPOP: the key, and rows of member and score.
func popped(v resp.Value) resp.Value {
	if len(v.Elems) == 2 {
		for _, row := range v.Elems[1].Elems {
			doubles(row, 2)
		}
	}
	return v
}

// flat puts the elements of the last element in its place.
func flat(v resp.Value) resp.Value {
	if n := len(v.Elems); n > 0 && v.Elems[n-1].Kind == resp.Array {
		v.Elems = append(v.Elems[:n-1:n-1], v.Elems[n-1].Elems...)
	}
	return v
}
