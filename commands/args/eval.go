package args

import "github.com/redfence/redfence/commands/resp"

// EvalOptions are the parts of EVAL and its relatives (https://redis.io/docs/latest/commands/eval/).
type EvalOptions struct {
	Keys []string
	Argv []string
}

// Eval parses EVAL script numkeys [key ...] [arg ...].
func Eval(line []string) (EvalOptions, error) {
	n, err := Int(line[2])
	if err != nil {
		return EvalOptions{}, err
	}
	rest := line[3:]
	if n > int64(len(rest)) {
		return EvalOptions{}, resp.ErrNumKeys
	}
	if n < 0 {
		return EvalOptions{}, resp.ErrNegativeKeys
	}
	return EvalOptions{Keys: rest[:n], Argv: rest[n:]}, nil
}
