// Package ops is what operators and their tools look at: Prometheus metrics, liveness and readiness over HTTP.
//
// It is the only package that knows Prometheus. The others report through the methods of [Metrics], which they
// declare as small interfaces of their own, or hand out plain numbers that are read when somebody asks.
package ops
