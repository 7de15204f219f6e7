package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redfence/redfence/proxy"
	"github.com/redfence/redfence/proxy/sentinel"
)

// lookEvery is how often the faces look at who leads. Clients ask once a second (Redisson's scanInterval).
const lookEvery = 100 * time.Millisecond

// directory is what a store knows of the processes that serve the same locks.
type directory interface {
	// Introduce says what the others shall know of this one.
	Introduce(card string)
	// View is who there is now, and who leads.
	View() sentinel.View
	// NamingRules say when another member is named.
	NamingRules() sentinel.Rules
}

// faces are the addresses of this process that answer as Sentinels.
type faces struct {
	shared    *sentinel.Faces
	servers   []*proxy.Server
	listeners []net.Listener
}

// openFaces opens the addresses and tells the other members of them, and of the one that clients lock at.
func openFaces(cfg Config, base proxy.Config, data net.Addr, store directory) (f *faces, err error) {
	f = &faces{shared: sentinel.NewFaces(sentinel.Config{Master: cfg.SentinelMaster, Rules: store.NamingRules()})}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	card := sentinel.Card{Data: announced(cfg.Announce, data)}
	for _, address := range cfg.SentinelListen {
		l, err := listen("sentinel-listen", address)
		if err != nil {
			return f, err
		}
		f.listeners = append(f.listeners, l)
		at := reachable(l.Addr(), card.Data)
		card.Faces = append(card.Faces, at)
		base.Hub, base.Wait, base.Tracking, base.Metrics = nil, nil, nil, nil
		base.Face = f.shared.Face(at)
		f.servers = append(f.servers, proxy.New(base))
	}
	text, err := json.Marshal(card)
	if err != nil {
		return f, fmt.Errorf("the card of this process: %w", err)
	}
	store.Introduce(string(text))
	return f, nil
}

// announced is the address by which clients know this process: the one that it was told, or the one it listens at; empty when
// that is all interfaces. A port that is not told is that of the listener.
func announced(told string, data net.Addr) string {
	if told == "" {
		return reachable(data, "")
	}
	host, port, err := net.SplitHostPort(told)
	if _, own, err := net.SplitHostPort(data.String()); err == nil && port == "0" {
		port = own
	}
	if err != nil {
		return told // Validate has the error
	}
	return net.JoinHostPort(host, port)
}

// reachable is a listener's address for others: where it listens on all interfaces, with the host of another address.
func reachable(l net.Addr, like string) string {
	if !isUnspecified(l.String()) {
		return l.String()
	}
	host, _, err := net.SplitHostPort(like)
	_, port, portErr := net.SplitHostPort(l.String())
	if err != nil || portErr != nil {
		return ""
	}
	return net.JoinHostPort(host, port)
}

// watch looks at who leads until ctx ends, and tells the subscribers.
func (f *faces) watch(ctx context.Context, store directory) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		for _, e := range f.shared.Look(store.View(), time.Now()) {
			for _, s := range f.servers {
				s.Announce(e.Channel, e.Payload)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// shutdown ends the servers.
func (f *faces) shutdown(ctx context.Context) error {
	var errs []error
	for _, s := range f.servers {
		errs = append(errs, s.Shutdown(ctx))
	}
	return errors.Join(errs...)
}

// close gives back the listeners.
func (f *faces) close() {
	for _, l := range f.listeners {
		_ = l.Close() // Shutdown may have closed it
	}
}

// parseCard reads what another member tells of itself. One of a later version may tell more, one of an earlier nothing.
func parseCard(text string) (card sentinel.Card) {
	if json.Unmarshal([]byte(text), &card) != nil {
		return sentinel.Card{}
	}
	return card
}
