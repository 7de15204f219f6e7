module github.com/redfence/redfence/integration/bench

go 1.26
