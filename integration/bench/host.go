package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// host is what the figures depend on besides the programs.
type host struct {
	commit, date, kernel, processor, golang, fileSystem string
	cores                                               int
	sync                                                syncTimes
}

func describeHost(ctx context.Context, dir string, disk syncTimes) host {
	return host{
		commit: commit(ctx), date: time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		kernel: said(ctx, "uname", "-sr"), processor: processor(), golang: runtime.Version(),
		fileSystem: fileSystem(ctx, dir), cores: runtime.NumCPU(), sync: disk,
	}
}

// commit names the commit that is measured, and whether the work tree differs from it.
func commit(ctx context.Context) string {
	c := said(ctx, "git", "rev-parse", "--short", "HEAD")
	if said(ctx, "git", "status", "--porcelain", "--", ":/*.go", ":/go.mod") != "" {
		c += " with changes"
	}
	return c
}

// said is the first line that a command prints; nothing when it fails.
func said(ctx context.Context, argv ...string) string {
	out, _ := exec.CommandContext(ctx, argv[0], argv[1:]...).Output() // a missing detail is left out
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// fileSystem names the type of the file system of dir.
func fileSystem(ctx context.Context, dir string) string {
	name := said(ctx, "stat", "-f", "-c", "%T", dir)
	if name == "tmpfs" {
		name += " (in memory, where a sync costs nothing: choose a disk with -dir)"
	}
	return name
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // a missing detail is left out
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// syncTimes tells how long the disk takes to make a small write durable.
type syncTimes struct{ p50, p99 time.Duration }

// probeSync appends to a file in dir and syncs it, 300 times, as a log that is not shared does.
func probeSync(dir string) (syncTimes, error) {
	const writes = 300
	f, err := os.Create(filepath.Join(dir, "probe"))
	if err != nil {
		return syncTimes{}, err
	}
	defer f.Close() // it goes with the directory
	block, took := make([]byte, 128), make([]time.Duration, writes)
	for i := range took {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return syncTimes{}, err
		}
		if err := f.Sync(); err != nil {
			return syncTimes{}, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return syncTimes{took[writes/2], took[writes*99/100]}, nil
}

// machine is how busy the machine was: times since boot, or between two moments, of all cores together.
type machine struct {
	elapsed             time.Duration
	busy, stolen, bench time.Duration
	load                string // of the last 1, 5 and 15 minutes
	at                  time.Time
}

// readMachine reads /proc. What it cannot read stays zero, for systems other than Linux.
func readMachine(servers []*server) machine {
	m := machine{at: time.Now()}
	text, _ := os.ReadFile("/proc/loadavg")
	m.load = strings.Join(strings.Fields(string(text))[:min(3, len(strings.Fields(string(text))))], " ")
	text, _ = os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, word := range strings.Fields(line) {
		switch d := ticks(word); i {
		case 1, 2, 3, 6, 7: // user, nice, system, irq, softirq: proc(5)
			m.busy += d
		case 8:
			m.stolen = d
		}
	}
	m.bench = processTime(os.Getpid())
	for _, p := range processes(servers) {
		m.bench += processTime(p.cmd.Process.Pid)
	}
	return m
}

// since is the difference between two readings; the load is the later one's.
func (m machine) since(before machine) machine {
	m.elapsed = m.at.Sub(before.at)
	m.busy -= before.busy
	m.stolen -= before.stolen
	m.bench -= before.bench
	return m
}

// others is how many cores other processes used on average.
func (m machine) others() float64 {
	return max(0, (m.busy-m.bench).Seconds()/m.elapsed.Seconds())
}

// steal is how many cores the hypervisor gave to others on average.
func (m machine) steal() float64 { return m.stolen.Seconds() / m.elapsed.Seconds() }

// processTime is the user and system time of a process so far: fields 14 and 15 of /proc/<pid>/stat, proc(5).
func processTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return ticks(fields[11]) + ticks(fields[12])
}

// ticks converts the kernel's 10 ms units; the first word of a line is no number and counts as 0.
func ticks(word string) time.Duration {
	n, _ := strconv.ParseInt(word, 10, 64)
	return time.Duration(n) * 10 * time.Millisecond
}
