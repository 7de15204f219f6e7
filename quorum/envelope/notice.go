package envelope

import (
	"strconv"
	"strings"
)

// Notice is what one proxy tells the others: a list or sorted set has grown, so whoever waits for it must be tried
// again.
type Notice struct {
	DB  int
	Key string
	All bool // any key of the database may have grown; Key is empty
}

// databases is how many there are (https://redis.io/docs/latest/commands/select/, with Redis's default).
const databases = 16

// The words that notices begin with. Those of later versions are not understood, and left alone.
const (
	ready    = "ready"
	readyAll = "readyall"
)

// String is the form in which a notice travels: a word, the database, the key, with blanks between them.
func (n Notice) String() string {
	if n.All {
		return readyAll + " " + strconv.Itoa(n.DB)
	}
	return ready + " " + strconv.Itoa(n.DB) + " " + n.Key
}

// ReadNotice is the reverse of String; false for what is no notice of this version.
func ReadNotice(text string) (n Notice, ok bool) {
	word, rest, _ := strings.Cut(text, " ")
	number, key, hasKey := strings.Cut(rest, " ")
	db, err := strconv.Atoi(number)
	if err != nil || db < 0 || db >= databases || hasKey != (word == ready) || word != ready && word != readyAll {
		return Notice{}, false
	}
	return Notice{DB: db, Key: key, All: word == readyAll}, true
}
