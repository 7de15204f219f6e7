package proxy

import (
	"context"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Administrator is a backend of several members. Its answers may take a while, for it asks the others.
type Administrator interface {
	// Administer answers a REDFENCE command.
	Administer(ctx context.Context, r *commands.Request) resp.Value
}

// administer has the backend answer a command about the cluster on a goroutine of its own, which ends with the server at the
// latest.
func administer(s *session, r *commands.Request) {
	sl := s.requestSlot(r)
	s.out.add(sl)
	backend, ok := s.srv.cfg.Backend.(Administrator)
	if !ok {
		sl.answer(Result{Reply: resp.ErrNoMembers.Value()})
		return
	}
	go func() { sl.answer(Result{Reply: backend.Administer(context.Background(), r)}) }()
}
