"""Two users of one lock of redis-py while the master is killed. They know nothing but Sentinels. See the README for
what is read and printed.

Usage: failover.py HOST:PORT,... KEY
"""

import sys
import threading
import time

from redis.exceptions import ConnectionError as Broken
from redis.exceptions import LockError, RedisError
from redis.sentinel import Sentinel

LEASE_S = 30
PATIENCE_S = 60


def answered(call):
    """Calls until there is an answer."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call()
        except LockError:
            raise
        except (RedisError, Broken, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def expect(order):
    line = sys.stdin.readline().strip()
    assert line == order, f"want {order}, got {line}"


def say(line):
    print(line, flush=True)


def user(sentinels, key):
    addresses = [(s.split(":")[0], int(s.split(":")[1])) for s in sentinels.split(",")]
    client = Sentinel(addresses, socket_timeout=2).master_for("mymaster", socket_timeout=2)
    return client.lock(key, timeout=LEASE_S, sleep=0.02, thread_local=False)


def main():
    alice, bob = user(*sys.argv[1:3]), user(*sys.argv[1:3])
    answered(alice.locked)
    answered(bob.locked)
    say("connected")
    expect("lock")
    assert alice.acquire(blocking=False), "a free lock is refused"
    waiting = threading.Thread(target=lambda: answered(bob.acquire), daemon=True)
    waiting.start()
    say("held")
    expect("failed")
    say(f"alice {int(answered(alice.owned))}")
    expect("watched")
    say("bob waits" if waiting.is_alive() else "bob got")
    expect("release")
    answered(alice.release)
    say("released 1")
    waiting.join(PATIENCE_S)
    say("bob waits" if waiting.is_alive() else "bob got")


main()
