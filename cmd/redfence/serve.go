package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// drainTimeout is how long running commands may take to finish after a signal. Requests give up on the log after
// 2.5 s, so this is ample.
const drainTimeout = 10 * time.Second

// closeTimeout is how long the store may take to close. It waits for entries in the log and for the disk.
const closeTimeout = 20 * time.Second

// startPatience is how long clients that connect early wait before they are told that the store is not ready.
const startPatience = 3 * time.Second

// serve runs a node until SIGTERM or SIGINT, and then drains it. A second signal ends the process at once.
func serve(ctx context.Context, cfg Config, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop)
	log, err := newLogger(cfg, stderr)
	if err != nil {
		return err
	}
	if strays := strayVariables(os.Environ()); len(strays) > 0 {
		log.Warn("environment variables without effect", "names", strings.Join(strays, ", "))
	}
	heap := raiseHeap()
	defer runtime.KeepAlive(heap)
	n, err := openNode(cfg, log)
	if err != nil {
		return err
	}
	defer n.close()
	tolerance := manyNodes()
	if n.cfg.Mode == modeRaft {
		tolerance = loneLog()
	}
	go muster(tolerance).watch(ctx) // behind openNode, which counts the processors
	return n.run(ctx)
}

// run serves until ctx ends or a listener fails. Health and metrics answer from the start, clients once the store
// is ready.
func (n *node) run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	if n.httpListener != nil {
		n.log.Info("metrics and health", "listen", n.httpListener.Addr().String())
		group.Go(func() error { return n.http.Serve(n.httpListener) })
	}
	group.Go(func() error {
		<-running.Done()
		n.drain()
		return nil
	})
	group.Go(func() error {
		select {
		case err := <-n.store.Failed():
			return err
		case <-running.Done():
			return nil
		}
	})
	group.Go(func() error {
		n.awaitStore(running)
		return n.front.Serve(n.listener)
	})
	n.serveFaces(running, group)
	group.Go(func() error {
		if err := n.store.Wait(running); err != nil {
			n.log.Info("ended before the store was ready", "error", err)
			return nil //nolint:nilerr // asked for, so no failure
		}
		return n.log.Ready(n.listener.Addr().String(), n.cfg.Mode)
	})
	return group.Wait()
}

// serveFaces answers as Sentinels from the start: that nobody leads yet is an answer.
func (n *node) serveFaces(running context.Context, group *errgroup.Group) {
	if len(n.faces.servers) == 0 {
		return
	}
	for i, s := range n.faces.servers {
		l := n.faces.listeners[i]
		n.log.Info("answering as a Sentinel", "listen", l.Addr().String(), "master", n.cfg.SentinelMaster)
		group.Go(func() error { return s.Serve(l) })
	}
	group.Go(func() error {
		n.faces.watch(running, n.store)
		return nil
	})
}

// awaitStore lets clients wait for the store for a while. When that is over they are told why they are not served, and
// operators can ask what is wrong.
func (n *node) awaitStore(running context.Context) {
	ctx, cancel := context.WithTimeout(running, startPatience)
	defer cancel()
	if err := n.store.Wait(ctx); err != nil && running.Err() == nil {
		n.log.Info("clients are answered, though the store is not ready", "error", err)
	}
}

// drain hands over what others can do, lets commands finish that were read, and then stops the servers.
func (n *node) drain() {
	n.log.Info("stopping")
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	n.store.Resign()
	if err := n.faces.shutdown(ctx); err != nil {
		n.log.Warn("clients of the Sentinel addresses were cut off", "error", err)
	}
	if err := n.front.Shutdown(ctx); err != nil {
		n.log.Warn("clients were cut off before their commands had finished", "error", err)
	}
	if n.http == nil {
		return
	}
	if err := n.http.Shutdown(ctx); err != nil {
		n.log.Warn("HTTP requests were cut off", "error", err)
	}
}
