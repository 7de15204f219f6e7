package integration

import (
	"bufio"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// A transcript is a list of command lines in the manner of redis-cli, without
// replies: the replies are what a real redis-server says. Its grammar:
//
//	# a comment
//	GET x                          a command, sent on the connection "main"
//	b> SUBSCRIBE ch                the same on the connection "b"
//	!approx=50 PTTL k              directives come before the command
//	!raw "*1\r\n$4\r\nPING\r\n"    bytes sent as they are
//	!inline GET x                  sent as an inline command
//	b> !receive                    reads one more reply or push of "b"
//	#resp2, #resp3, #both          the next lines run in that protocol only
//	%script NAME ... %end          a Lua text, used as ${NAME} and ${sha1:NAME}
//
// Directives: approx=N (integers within N), sorted (elements in any order),
// pairs (the same for flat field-value lists), class (first word of an error),
// regex=R (both replies match), head=N (only the first N elements of each inner
// array), shape (types only), mask=A,B (values after these fields are ignored),
// until=REPLY (repeated until it answers so), repeat (the same for regex=R), replies=N (how many replies are
// read, 1 unless told), save=NAME (the reply's text becomes ${NAME}), diff=ID (a
// deliberate difference that docs/compatibility.md explains), want=R (what
// redfence answers there), noquorum=ID (not sent when quorum mode is compared;
// docs/quorum.md explains why).
type transcript struct {
	name  string
	steps []step
}

// step is one line that sends or receives something.
type step struct {
	line     int
	text     string
	conn     string
	protocol int // 2 or 3 when the line is for that protocol only, else 0
	kind     stepKind
	args     []string // of a command; the words of an inline command; the bytes of raw
	rule     rule
}

type stepKind int

const (
	sendCommand stepKind = iota
	sendInline
	sendRaw
	receiveOnly
)

// rule says how two replies are compared.
type rule struct {
	approx                      int64
	sorted, pairs, class, shape bool
	repeat                      bool
	inside                      bool // the reply stands in that of EXEC
	regex, want                 *regexp.Regexp
	head                        int
	mask                        []string
	until, save, diff, noQuorum string
	replies                     int
}

var errTranscript = errors.New("bad transcript line")

// connName is the word before a line that is not for the connection "main".
var connName = regexp.MustCompile(`^([a-z][a-z0-9]*)>$`)

// readTranscript parses a file.
func readTranscript(path string) (transcript, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return transcript{}, err
	}
	p := transcriptParser{scripts: map[string]string{}}
	scan := bufio.NewScanner(strings.NewReader(string(file)))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		p.line++
		if err := p.parse(scan.Text()); err != nil {
			return transcript{}, fmt.Errorf("%s:%d: %w", path, p.line, err)
		}
	}
	return transcript{name: path, steps: p.steps}, scan.Err()
}

type transcriptParser struct {
	line     int
	protocol int
	steps    []step
	scripts  map[string]string
	script   string // the name of the Lua text being read, or ""
	body     []string
}

func (p *transcriptParser) parse(text string) error {
	switch name, isScript := strings.CutPrefix(text, "%script "); {
	case p.script != "":
		p.scriptLine(text)
	case isScript:
		p.script = strings.TrimSpace(name)
	case text == "#resp2":
		p.protocol = 2
	case text == "#resp3":
		p.protocol = 3
	case text == "#both":
		p.protocol = 0
	case strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#"):
	default:
		return p.step(text)
	}
	return nil
}

func (p *transcriptParser) scriptLine(text string) {
	if text != "%end" {
		p.body = append(p.body, text)
		return
	}
	source := strings.Join(p.body, "\n")
	sum := sha1.Sum([]byte(source))
	p.scripts[p.script] = source
	p.scripts["sha1:"+p.script] = hex.EncodeToString(sum[:])
	p.script, p.body = "", nil
}

func (p *transcriptParser) step(text string) error {
	s := step{line: p.line, text: text, conn: "main", protocol: p.protocol, rule: rule{replies: 1}}
	words, err := splitArgs(text)
	if err != nil {
		return err
	}
	words, err = s.prefix(words)
	if err != nil {
		return err
	}
	if len(words) == 0 && s.kind != receiveOnly {
		return fmt.Errorf("%w: no command", errTranscript)
	}
	for _, word := range words {
		s.args = append(s.args, expand(word, p.scripts))
	}
	p.steps = append(p.steps, s)
	return nil
}

// prefix takes the connection's name and the directives off a line.
func (s *step) prefix(words []string) ([]string, error) {
	for len(words) > 0 {
		if m := connName.FindStringSubmatch(words[0]); m != nil {
			s.conn = m[1]
		} else if word, ok := strings.CutPrefix(words[0], "!"); !ok {
			break
		} else if err := s.directive(word); err != nil {
			return nil, err
		}
		words = words[1:]
	}
	return words, nil
}

// directive applies one word that began with an exclamation mark.
func (s *step) directive(word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "raw":
		s.kind = sendRaw
	case "inline":
		s.kind = sendInline
	case "receive":
		s.kind = receiveOnly
	default:
		err = s.rule.set(name, value)
	}
	return err
}

func (r *rule) set(name, value string) (err error) {
	switch name {
	case "approx":
		r.approx, err = strconv.ParseInt(value, 10, 64)
	case "head":
		r.head, err = strconv.Atoi(value)
	case "replies":
		r.replies, err = strconv.Atoi(value)
	case "regex":
		r.regex, err = regexp.Compile(value)
	case "want":
		r.want, err = regexp.Compile(value)
	case "sorted":
		r.sorted = true
	case "pairs":
		r.pairs = true
	case "class":
		r.class = true
	case "repeat":
		r.repeat = true
	case "shape":
		r.shape = true
	case "mask":
		r.mask = strings.Split(value, ",")
	case "until":
		r.until = value
	case "save":
		r.save = value
	case "diff":
		r.diff = value
	case "noquorum":
		r.noQuorum = value
	default:
		err = fmt.Errorf("%w: directive %q", errTranscript, name)
	}
	return err
}

var variable = regexp.MustCompile(`\$\{([a-z0-9:_-]+)\}`)

// expand replaces ${name} by its value; unknown names stay as they are.
func expand(word string, values map[string]string) string {
	return variable.ReplaceAllStringFunc(word, func(ref string) string {
		if value, ok := values[ref[2:len(ref)-1]]; ok {
			return value
		}
		return ref
	})
}

// splitArgs splits a line into words as redis-cli does: "..." with \n, \xHH and
// other escapes, '...' with only \' as an escape.
func splitArgs(text string) ([]string, error) {
	var words []string
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" {
			return words, nil
		}
		word, rest, err := nextArg(text)
		if err != nil {
			return nil, err
		}
		words, text = append(words, word), rest
	}
}

// nextArg reads one word; quoted parts may stand inside it (regex="a b").
func nextArg(text string) (word, rest string, err error) {
	var b strings.Builder
	for text != "" && text[0] != ' ' && text[0] != '\t' {
		switch text[0] {
		case '"', '\'':
			var part string
			part, text, err = quoted(text)
			if err != nil {
				return "", "", err
			}
			b.WriteString(part)
		default:
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String(), text, nil
}

// quoted reads a quoted part that begins text.
func quoted(text string) (part, rest string, err error) {
	var b strings.Builder
	quote, text := text[0], text[1:]
	for text != "" {
		switch {
		case text[0] == quote:
			return b.String(), text[1:], nil
		case text[0] == '\\' && quote == '\'' && strings.HasPrefix(text, `\'`):
			b.WriteByte('\'')
			text = text[2:]
		case text[0] == '\\' && quote == '"':
			char, _, tail, err := strconv.UnquoteChar(text, '"')
			if err != nil {
				return "", "", fmt.Errorf("%w: escape in %q", errTranscript, text)
			}
			b.WriteByte(byte(char))
			text = tail
		default:
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return "", "", fmt.Errorf("%w: open quote", errTranscript)
}
