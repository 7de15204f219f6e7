package args

import (
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// ReplyMode says which commands of a connection are answered.
type ReplyMode uint8

// The modes of CLIENT REPLY.
const (
	ReplyOn   ReplyMode = iota
	ReplyOff            // none
	ReplySkip           // all but the next
)

// ClientReply parses CLIENT REPLY ON|OFF|SKIP.
func ClientReply(line []string) (ReplyMode, error) {
	switch strings.ToUpper(line[2]) {
	case "ON":
		return ReplyOn, nil
	case "OFF":
		return ReplyOff, nil
	case "SKIP":
		return ReplySkip, nil
	}
	return 0, resp.ErrSyntax
}

// OnOff parses a subcommand with a switch: CLIENT NO-EVICT ON|OFF.
func OnOff(line []string) (bool, error) {
	switch strings.ToUpper(line[2]) {
	case "ON":
		return true, nil
	case "OFF":
		return false, nil
	}
	return false, resp.ErrSyntax
}

// ClientSetName parses CLIENT SETNAME name.
func ClientSetName(line []string) (string, error) { return line[2], checkName(line[2]) }

// LibraryInfo is what CLIENT SETINFO says about a client library.
type LibraryInfo struct {
	Version bool // Value is the version, else the name
	Value   string
}

// ClientSetInfo parses CLIENT SETINFO LIB-NAME name|LIB-VER version
// (https://redis.io/docs/latest/commands/client-setinfo/).
func ClientSetInfo(line []string) (LibraryInfo, error) {
	attribute := strings.ToLower(line[2])
	if attribute != "lib-name" && attribute != "lib-ver" {
		return LibraryInfo{}, resp.UnknownLibraryField(line[2])
	}
	if !printable(line[3]) {
		return LibraryInfo{}, resp.BadLibraryField(attribute)
	}
	return LibraryInfo{Version: attribute == "lib-ver", Value: line[3]}, nil
}

// ClientFilter says which connections CLIENT LIST shows.
type ClientFilter struct {
	IDs    []int64 // nil for all
	Type   ClientType
	ByType bool
}

// ClientType is a kind of connection.
type ClientType uint8

// The types of CLIENT LIST TYPE. There are never masters or replicas here.
const (
	NormalClient ClientType = iota
	PubSubClient
	ReplicationClient
)

var clientTypes = map[string]ClientType{
	"normal": NormalClient, "pubsub": PubSubClient,
	"replica": ReplicationClient, "slave": ReplicationClient, "master": ReplicationClient,
}

// ClientList parses CLIENT LIST [TYPE type | ID id...].
func ClientList(line []string) (ClientFilter, error) {
	var f ClientFilter
	switch {
	case len(line) == 2:
		return f, nil
	case len(line) == 4 && strings.EqualFold(line[2], "TYPE"):
		t, ok := clientTypes[strings.ToLower(line[3])]
		if !ok {
			return f, resp.UnknownClientType(line[3])
		}
		return ClientFilter{Type: t, ByType: true}, nil
	case len(line) >= 4 && strings.EqualFold(line[2], "ID"):
		return clientIDs(line[3:])
	}
	return f, resp.ErrSyntax
}

func clientIDs(words []string) (ClientFilter, error) {
	var f ClientFilter
	for _, word := range words {
		id, err := Int(word)
		if err != nil {
			return f, resp.ErrClientID
		}
		f.IDs = append(f.IDs, id)
	}
	return f, nil
}
