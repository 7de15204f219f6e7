package script

import (
	"errors"
	"fmt"
	"strings"
)

// FlagSet holds the flags of a script's first line, "#!lua flags=..." (https://redis.io/docs/latest/develop/interact/programmability/lua-api/#script_flags).
type FlagSet struct {
	Declared           bool // the script has a first line of that kind, so that Redis does not apply its old rules
	NoWrites           bool // no-writes: as if called with EVAL_RO
	AllowOOM           bool // allow-oom
	AllowStale         bool // allow-stale
	NoCluster          bool // no-cluster
	AllowCrossSlotKeys bool // allow-cross-slot-keys
}

// Flags reads the first line of a script. Errors have the text of the reply that Redis gives.
func Flags(text string) (FlagSet, error) {
	f, _, err := shebang(text)
	return f, err
}

// shebang also returns how many bytes the line has; its line feed stays in front of the code, so that line numbers stay
// right.
func shebang(text string) (f FlagSet, n int, err error) {
	if !strings.HasPrefix(text, "#!") {
		return f, 0, nil
	}
	n = strings.IndexByte(text, '\n')
	if n < 0 {
		return f, 0, errors.New("ERR Invalid script shebang")
	}
	parts := strings.Fields(text[:n])
	if parts[0] != "#!lua" {
		return f, 0, fmt.Errorf("ERR Unexpected engine in script shebang: %s", parts[0])
	}
	f.Declared = true
	for _, part := range parts[1:] {
		list, ok := strings.CutPrefix(part, "flags=")
		if !ok {
			return f, 0, fmt.Errorf("ERR Unknown lua shebang option: %s", part)
		}
		if err := f.add(list); err != nil {
			return f, 0, err
		}
	}
	return f, n, nil
}

func (f *FlagSet) add(list string) error {
	if list == "" {
		return nil
	}
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "no-writes":
			f.NoWrites = true
		case "allow-oom":
			f.AllowOOM = true
		case "allow-stale":
			f.AllowStale = true
		case "no-cluster":
			f.NoCluster = true
		case "allow-cross-slot-keys":
			f.AllowCrossSlotKeys = true
		default:
			return fmt.Errorf("ERR Unexpected flag in script shebang: %s", name)
		}
	}
	return nil
}
