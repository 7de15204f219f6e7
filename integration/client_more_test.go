package integration

import "testing"

// The cases of the programs below; see clients/README.md.
var (
	symfonyCases  = append(words("readers-and-writer reader-becomes-writer own-again"), lockCases...)
	phpredisCases = append(words("pipeline transaction blocking persistent"), lockCases...)
	rubyCases     = append(words("pub-sub pipeline transaction"), lockCases...)
	rustCases     = append(words("pipeline transaction"), lockCases...)
)

var (
	phpLibraries = []library{
		{"php", "symfony-lock", []variant{{"store", words("--library symfony"), symfonyCases}}},
		{"php", "phpredis", []variant{{"set-nx", words("--library phpredis"), phpredisCases}}},
	}
	rubyLibraries = []library{
		{"ruby", "redis-rb", []variant{{"set-nx", nil, rubyCases}}},
	}
	rustLibraries = []library{
		{"rust", "rslock", []variant{
			{"resp3", words("--library rslock --protocol 3"), lockCases},
			{"resp2", words("--library rslock --protocol 2"), lockCases},
		}},
		{"rust", "redis-rs", []variant{
			{"resp3", words("--library redis-rs --protocol 3"), rustCases},
			{"resp2", words("--library redis-rs --protocol 2"), rustCases},
		}},
	}
)

// TestClientLibrariesOfPHP and the like let libraries do their work that are not for the gate.
func TestClientLibrariesOfPHP(t *testing.T) {
	onlyInLongRun(t)
	testLibraries(t, phpLibraries, "php", "clients/php/suite.php", "--addr")
}

func TestClientLibrariesOfRuby(t *testing.T) {
	onlyInLongRun(t)
	testLibraries(t, rubyLibraries, "ruby", "clients/ruby/suite.rb", "--addr")
}

func TestClientLibrariesOfRust(t *testing.T) {
	onlyInLongRun(t)
	testLibraries(t, rustLibraries, "clients/rust/target/release/suite", "--addr")
}
