"""Runs python-redis-lock and pottery's Redlock against the server at --addr, or the master that --sentinels name, in named cases.

python-redis-lock waits with BLPOP for the signal of a release; pottery is the Redlock algorithm, here over one
server. --library chooses, --protocol 2|3 too. Prints one line per case, "ok NAME DETAILS" or "not ok NAME REASON";
the exit code is 1 when any case failed.
"""

import argparse
import logging
import sys
import threading
import time
import traceback
import uuid

import pottery
import redis
import redis_lock
from pottery.exceptions import ExtendUnlockedLock, QuorumNotAchieved, ReleaseUnlockedLock, TooManyExtensions
from redis.sentinel import Sentinel

PATIENCE_S = 10  # bound of every wait for something that is due at once


def refused(kind, call, *args, **kwargs):
    """Fails unless the call raises exactly this kind of error."""
    try:
        call(*args, **kwargs)
    except Exception as error:
        assert type(error) is kind, f"want {kind.__name__}, got {error!r}"
        return
    raise AssertionError(f"want {kind.__name__}, got no error")


class Thread(threading.Thread):
    """A thread whose result, or error, is had by result()."""

    def __init__(self, call, *args):
        super().__init__(daemon=True)
        self.call, self.args, self.value, self.error = call, args, None, None
        self.start()

    def run(self):
        try:
            self.value = self.call(*self.args)
        except Exception as error:
            self.error = error

    def result(self, timeout=PATIENCE_S):
        self.join(timeout)
        assert not self.is_alive(), "waits for ever"
        if self.error:
            raise self.error
        return self.value


def eventually(what, condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.005)


class Guarded:
    """A counter that notices two users at once, and loses updates but for the lock."""

    def __init__(self):
        self.inside = 0
        self.count = 0

    def use(self):
        self.inside += 1
        assert self.inside == 1, f"{self.inside} owners inside"
        count = self.count
        time.sleep(0.001)
        self.count = count + 1
        self.inside -= 1


def contend(users, rounds, locked):
    """Lets several threads use a counter in rounds; locked() makes the lock as a context manager."""
    guarded = Guarded()

    def use():
        for _ in range(rounds):
            with locked():
                guarded.use()

    for thread in [Thread(use) for _ in range(users)]:
        thread.result(60)
    assert guarded.count == users * rounds, f"counter {guarded.count}"
    return f"grants={guarded.count}"


# --- python-redis-lock: name(client, key) -> details ------------------------------------------------------------


def prl_acquire_release(client, key):
    lock, other = redis_lock.Lock(client, key, expire=30), redis_lock.Lock(client, key, expire=30)
    assert lock.acquire(blocking=False) is True
    assert lock.locked() and other.locked() and other.get_owner_id() == lock.id
    assert other.acquire(blocking=False) is False, "another owner got a held lock"
    refused(redis_lock.AlreadyAcquired, lock.acquire)
    refused(redis_lock.NotAcquired, other.release)
    ttl = client.pttl(f"lock:{key}")
    assert 0 < ttl <= 30_000, f"TTL {ttl} ms"
    lock.release()
    assert not other.locked()
    refused(redis_lock.NotAcquired, lock.release)
    assert other.acquire(blocking=False) is True, "not free after release"
    other.release()
    return f"ttl_ms={ttl}"


def prl_signal_wakes(client, key):
    """A waiter blocks in the server, and comes by the signal of the release, far ahead of the expiry."""
    lock, other = redis_lock.Lock(client, key, expire=60), redis_lock.Lock(client, key, expire=60)
    assert lock.acquire()

    def wait():
        assert other.acquire(timeout=30)
        return time.monotonic()

    waiter = Thread(wait)
    eventually("somebody waits", lambda: client.info("clients")["blocked_clients"] >= 1)
    assert waiter.is_alive()
    released = time.monotonic()
    lock.release()
    woken = waiter.result() - released
    other.release()
    return f"woken_after_ms={woken * 1000:.1f}"


def prl_many_waiters(client, key):
    """Each release lets exactly one in, until all have had their turn."""
    first = redis_lock.Lock(client, key, expire=30)
    assert first.acquire()
    turns = []

    def take_turn(name):
        with redis_lock.Lock(client, key, expire=30):
            turns.append(name)

    waiters = [Thread(take_turn, n) for n in range(5)]
    eventually("five wait", lambda: client.info("clients")["blocked_clients"] >= 5)
    assert turns == []
    first.release()
    for waiter in waiters:
        waiter.result()
    assert sorted(turns) == list(range(5)), f"turns {turns}"
    return ""


def prl_waits_in_vain(client, key):
    lock, other = redis_lock.Lock(client, key, expire=30), redis_lock.Lock(client, key, expire=30)
    assert lock.acquire()
    started = time.monotonic()
    assert other.acquire(timeout=1) is False, "another owner got a held lock"
    waited = time.monotonic() - started
    assert 0.95 <= waited < 5, f"waited {waited:.3f} s instead of 1 s"
    lock.release()
    return f"waited_s={waited:.3f}"


def prl_expiry(client, key):
    """A dead owner sends no signal: the waiter comes when its BLPOP ends, after the lock's own expiry."""
    lock, other = redis_lock.Lock(client, key, expire=1), redis_lock.Lock(client, key, expire=1)
    started = time.monotonic()
    assert lock.acquire() and other.acquire()
    waited = time.monotonic() - started
    assert 0.999 <= waited < 6, f"expired after {waited:.3f} s of 1 s"
    refused(redis_lock.NotAcquired, lock.release)
    assert other.locked(), "the former owner's release took the lock away"
    other.release()
    return f"next_owner_after_s={waited:.3f}"


def prl_extend(client, key):
    lock = redis_lock.Lock(client, key, expire=5)
    refused(redis_lock.NotAcquired, lock.extend)
    assert lock.acquire()
    lock.extend(expire=60)
    ttl = client.pttl(f"lock:{key}")
    assert 55_000 < ttl <= 60_000, f"TTL {ttl} ms"
    client.persist(f"lock:{key}")
    refused(redis_lock.NotExpirable, lock.extend)
    lock.release()
    return f"ttl_ms={ttl}"


def prl_auto_renewal(client, key):
    lock, other = redis_lock.Lock(client, key, expire=1, auto_renewal=True), redis_lock.Lock(client, key, expire=1)
    with lock:
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            assert client.pttl(f"lock:{key}") > 0, "the lock is gone under its owner"
            assert other.acquire(blocking=False) is False, "another owner got a held lock"
            time.sleep(0.05)
    assert other.acquire(blocking=False) is True, "not free after release"
    other.release()
    return ""


def prl_no_expiry(client, key):
    with redis_lock.Lock(client, key) as lock:
        assert client.pttl(f"lock:{key}") == -1
        assert redis_lock.Lock(client, key, id=lock.id).get_owner_id() == lock.id
    assert not client.exists(f"lock:{key}")
    return ""


def prl_reset(client, key):
    lock, other = redis_lock.Lock(client, key, expire=30), redis_lock.Lock(client, key, expire=30)
    assert lock.acquire()
    waiter = Thread(other.acquire)
    eventually("somebody waits", lambda: client.info("clients")["blocked_clients"] >= 1)
    redis_lock.Lock(client, key).reset()
    assert waiter.result() is True
    refused(redis_lock.NotAcquired, lock.release)
    other.release()
    return ""


def prl_reset_all(client, key):
    """reset_all finds the locks by KEYS in a script that declares no keys."""
    locks = [redis_lock.Lock(client, f"{key}:{n}", expire=30) for n in range(5)]
    for lock in locks:
        assert lock.acquire()
    redis_lock.reset_all(client)
    assert not any(lock.locked() for lock in locks)
    signals = [client.llen(f"lock-signal:{key}:{n}") for n in range(5)]
    assert signals == [1] * 5, f"signals {signals}"
    for lock in locks:
        refused(redis_lock.NotAcquired, lock.release)
    return ""


def prl_script_flush(client, key):
    for _ in range(2):
        with redis_lock.Lock(client, key, expire=30) as lock:
            client.script_flush()
            lock.extend()
            client.script_flush()
    return ""


def prl_contention(client, key):
    return contend(6, 10, lambda: redis_lock.Lock(client, key, expire=30))


# --- pottery's Redlock ------------------------------------------------------------------------------------------


def redlock(client, key, **options):
    return pottery.Redlock(key=key, masters={client}, raise_on_redis_errors=True, **options)


def pottery_acquire_release(client, key):
    lock, other = redlock(client, key, auto_release_time=30), redlock(client, key, auto_release_time=30)
    assert lock.acquire(blocking=False) is True
    left = lock.locked()
    assert 25 < left <= 30, f"{left} s left of 30"
    assert other.acquire(blocking=False) is False, "another owner got a held lock"
    assert other.locked() == 0
    refused(ReleaseUnlockedLock, other.release)
    lock.release()
    refused(ReleaseUnlockedLock, lock.release)
    assert other.acquire(blocking=False) is True, "not free after release"
    other.release()
    return f"left_s={left:.3f}"


def pottery_waits(client, key):
    lock, other = redlock(client, key, auto_release_time=30), redlock(client, key, auto_release_time=30)
    assert lock.acquire()
    assert other.acquire(timeout=0.3) is False, "another owner got a held lock"
    waiter = Thread(other.acquire)
    time.sleep(0.3)
    assert waiter.is_alive()
    lock.release()
    assert waiter.result() is True
    other.release()
    return ""


def pottery_extend(client, key):
    lock = redlock(client, key, auto_release_time=3, num_extensions=2)
    assert lock.acquire()
    for _ in range(2):
        time.sleep(1.6)
        lock.extend()
    refused(TooManyExtensions, lock.extend)
    assert lock.locked() > 0, "lost although it was extended"
    lock.release()
    refused(ExtendUnlockedLock, redlock(client, key).extend)
    return ""


def pottery_expiry(client, key):
    lock, other = redlock(client, key, auto_release_time=0.5), redlock(client, key, auto_release_time=30)
    started = time.monotonic()
    assert lock.acquire() and other.acquire()
    waited = time.monotonic() - started
    assert 0.499 <= waited < 5, f"expired after {waited:.3f} s of 0.5 s"
    refused(ReleaseUnlockedLock, lock.release)
    assert other.locked() > 0, "the former owner's release took the lock away"
    other.release()
    return f"next_owner_after_s={waited:.3f}"


def pottery_context_manager(client, key):
    with redlock(client, key, auto_release_time=30):
        impatient = redlock(client, key, context_manager_blocking=False)
        refused(QuorumNotAchieved, impatient.__enter__)
    assert redlock(client, key).acquire(blocking=False) is True
    return ""


def pottery_contention(client, key):
    return contend(4, 5, lambda: redlock(client, key, auto_release_time=30))


CASES = {
    "python-redis-lock": [
        prl_acquire_release, prl_signal_wakes, prl_many_waiters, prl_waits_in_vain, prl_expiry, prl_extend,
        prl_auto_renewal, prl_no_expiry, prl_reset, prl_reset_all, prl_script_flush, prl_contention,
    ],
    "pottery": [
        pottery_acquire_release, pottery_waits, pottery_extend, pottery_expiry, pottery_context_manager,
        pottery_contention,
    ],
}


def run(name, case, client):
    """Runs one case within a time limit, prints its line, and tells whether it passed."""
    try:
        details = Thread(case, client, f"python:{uuid.uuid4()}").result(60)
    except Exception as error:
        print(f"not ok {name} {type(error).__name__}: {' '.join(str(error).split())}", flush=True)
        traceback.print_exception(error)
        return False
    print(f"ok {name} {details}", flush=True)
    return True


def connect(options):
    if options.sentinels:
        addresses = [address.rsplit(":", 1) for address in options.sentinels.split(",")]
        return Sentinel(addresses, protocol=options.protocol).master_for("mymaster", protocol=options.protocol)
    host, port = options.addr.rsplit(":", 1)
    return redis.Redis(host=host, port=int(port), protocol=options.protocol)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--addr", help="host:port of the server")
    where.add_argument("--sentinels", help="host:port,... of Sentinels")
    parser.add_argument("--library", required=True, choices=CASES)
    parser.add_argument("--protocol", type=int, default=3, choices=(2, 3))
    options = parser.parse_args()
    logging.getLogger("redis_lock").setLevel(logging.ERROR)  # it warns of each lock that is held
    client = connect(options)
    passed = True
    for case in CASES[options.library]:
        name = case.__name__.split("_", 1)[1].replace("_", "-")
        passed &= run(name, case, client)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
