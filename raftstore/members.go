package raftstore

// leaderAddr is who leads, as far as this node knows: the address of its cluster port and its server id, both empty when
// nobody is known to lead. self tells that it is this node, which need not be ready to serve yet.
func (s *Store) leaderAddr() (addr, id string, self bool) {
	at, who := s.raft.LeaderWithID()
	return string(at), string(who), string(who) == s.id.serverID()
}
