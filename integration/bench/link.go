package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// parseLinks reads the round trips of -link. A network without a delay shows what the program takes that stands for it.
func parseLinks(text string) (list []time.Duration, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		d, err := time.ParseDuration(word)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("-link: %q is no duration", word)
		}
		list = append(list, d)
	}
	return list, nil
}

// linkAll puts a network of each round trip in front of each of the servers, a process of its own.
func linkAll(ctx context.Context, roundTrips []time.Duration, servers []*server, dir string) error {
	if len(roundTrips) == 0 {
		return nil
	}
	program := filepath.Join(dir, "link-program")
	if err := goBuild(ctx, program, ".", "./link"); err != nil {
		return err
	}
	for _, s := range servers {
		for i, d := range roundTrips {
			s.links = append(s.links, &server{
				name: fmt.Sprintf("link of %v to %s", d, s.name),
				dir:  filepath.Join(dir, fmt.Sprintf("link-%d-%s", i, s.name)),
				late: func() []string { return []string{program, d.String(), s.addr} }, ready: regexp.MustCompile(`link ready listen=(\S+)`),
			})
		}
	}
	return nil
}

// ahead is what clients of a server connect to: the server itself, or the setting's link.
func (s setting) ahead(srv *server) *server {
	if s.link == 0 {
		return srv
	}
	return srv.links[s.link-1]
}

// linkTook tells by how much a row's link makes the first server's median longer: what the round trip is in truth.
func (r *result) linkTook(of row) string {
	for _, bare := range r.rows {
		if of.link > 0 && bare.link == 0 && bare.clients == of.clients && bare.ops[0] == of.ops[0] {
			took := of.sides[0].seen[0].quantile(0.5) - bare.sides[0].seen[0].quantile(0.5)
			return fmt.Sprintf("; the link makes the median of %s longer by %s µs (clients: %d)", r.servers[0].name, micros(took), of.clients)
		}
	}
	return ""
}
