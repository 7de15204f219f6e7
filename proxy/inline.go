package proxy

import (
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// splitInline splits an inline command into words as sdssplitargs of Redis does: blanks separate; double quotes take
// escapes such as \n and \x0d, single quotes only \'; a closing quote must end its word.
func splitInline(text string) ([]string, error) {
	var words []string
	text, _, _ = strings.Cut(text, "\x00") // it ends a C string
	for {
		text = strings.TrimLeft(text, blanks)
		if text == "" {
			return words, nil
		}
		word, rest, err := inlineWord(text)
		if err != nil {
			return nil, err
		}
		words, text = append(words, word), rest
	}
}

// blanks are the bytes that C's isspace accepts.
const blanks = " \t\n\v\f\r"

// inlineWord takes one word off text, which begins with it.
func inlineWord(text string) (word, rest string, err error) {
	var b strings.Builder
	for text != "" && strings.IndexByte(blanks, text[0]) < 0 {
		quote := text[0]
		if quote != '"' && quote != '\'' {
			b.WriteByte(quote)
			text = text[1:]
			continue
		}
		text, err = quoted(&b, text[1:], quote)
		if err != nil {
			return "", "", err
		}
		return b.String(), text, nil
	}
	return b.String(), text, nil
}

// quoted reads up to the closing quote and returns what follows it.
func quoted(b *strings.Builder, text string, quote byte) (rest string, err error) {
	for text != "" && text[0] != quote {
		width := 1
		c := text[0]
		if c == '\\' && len(text) > 1 {
			c, width = escaped(text, quote)
		}
		b.WriteByte(c)
		text = text[width:]
	}
	if text == "" || (len(text) > 1 && strings.IndexByte(blanks, text[1]) < 0) {
		return "", resp.ErrQuotes
	}
	return text[1:], nil
}

// escaped reads the escape at the start of text, which is a backslash and at least one byte.
func escaped(text string, quote byte) (c byte, width int) {
	if quote == '\'' {
		if text[1] == '\'' {
			return '\'', 2
		}
		return '\\', 1
	}
	if text[1] == 'x' && len(text) >= 4 {
		if n, err := strconv.ParseUint(text[2:4], 16, 8); err == nil {
			return byte(n), 4
		}
	}
	if at := strings.IndexByte("nrtba", text[1]); at >= 0 {
		return "\n\r\t\b\a"[at], 2
	}
	return text[1], 2
}
