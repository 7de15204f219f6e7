"""Runs redis-py's locks against the server at --addr, or the master that --sentinels name, in named cases.

Every case runs four times: with RESP2 and RESP3, with the blocking and the asyncio client. Prints one line per
case, "ok NAME DETAILS" or "not ok NAME REASON"; the exit code is 1 when any case failed.
"""

import argparse
import asyncio
import inspect
import sys
import threading
import time
import traceback
import uuid

import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel
from redis.exceptions import LockError, LockNotOwnedError

PATIENCE_S = 10  # bound of every wait for something that is due at once


async def settled(value):
    """The value of a call, which the asyncio client returns as an awaitable: so a case serves both clients."""
    return await value if inspect.isawaitable(value) else value


async def refused(kind, call):
    """Fails unless the call raises exactly this kind of error."""
    try:
        await settled(call())
    except kind as error:
        assert type(error) is kind, f"want {kind.__name__}, got {error!r}"
        return
    raise AssertionError(f"want {kind.__name__}, got no error")


async def gone(lock, started):
    """Waits until the lock has expired; the seconds since it was started."""
    while await settled(lock.locked()):
        assert time.monotonic() - started < PATIENCE_S, "does not expire"
        await asyncio.sleep(0.005)
    return time.monotonic() - started


class Guarded:
    """A counter that notices two users at once, and updates that are lost."""

    def __init__(self):
        self.inside = 0
        self.count = 0

    def enter(self):
        self.inside += 1
        assert self.inside == 1, f"{self.inside} owners inside"
        return self.count

    def leave(self, count):
        self.count = count + 1
        self.inside -= 1


# --- cases: name(client, key) -> details -----------------------------------------------------------------------


async def acquire_release(client, key):
    lock, other = client.lock(key, timeout=30), client.lock(key, timeout=30)
    assert await settled(lock.acquire(blocking=False)) is True
    assert await settled(lock.locked()) and await settled(lock.owned())
    assert await settled(other.locked()) and not await settled(other.owned())
    assert await settled(other.acquire(blocking=False)) is False, "another owner got a held lock"
    ttl = await settled(client.pttl(key))
    assert 0 < ttl <= 30_000, f"TTL {ttl} ms"
    await settled(lock.release())
    assert not await settled(lock.locked())
    assert await settled(other.acquire(blocking=False)) is True, "not free after release"
    await settled(other.release())
    return f"ttl_ms={ttl}"


async def blocking_timeout(client, key):
    lock, other = client.lock(key, timeout=30), client.lock(key, timeout=30, sleep=0.02)
    assert await settled(lock.acquire())
    started = time.monotonic()
    assert await settled(other.acquire(blocking_timeout=0.3)) is False, "another owner got a held lock"
    waited = time.monotonic() - started
    assert 0.2 <= waited < 5, f"waited {waited:.3f} s instead of 0.3 s"
    await settled(lock.release())
    return f"waited_s={waited:.3f}"


async def expiry(client, key):
    lock, other = client.lock(key, timeout=0.3), client.lock(key, timeout=30, sleep=0.01)
    started = time.monotonic()
    assert await settled(lock.acquire())
    assert await settled(other.acquire(blocking_timeout=PATIENCE_S)), "the lock does not expire"
    waited = time.monotonic() - started
    assert waited >= 0.299, f"expired after {waited:.3f} s of 0.3 s"
    await refused(LockNotOwnedError, lock.release)
    assert await settled(other.owned()), "the former owner's release took the lock away"
    await settled(other.release())
    return f"expired_after_s={waited:.3f}"


async def release_errors(client, key):
    lock = client.lock(key, timeout=30)
    await refused(LockError, lock.release)
    assert await settled(lock.acquire())
    assert await settled(client.delete(key)) == 1
    await refused(LockNotOwnedError, lock.release)
    await refused(LockError, lock.release)
    assert await settled(lock.acquire())
    await settled(client.set(key, "stolen", px=30_000))
    await refused(LockNotOwnedError, lock.release)
    assert await settled(client.get(key)) == b"stolen"
    await settled(client.delete(key))
    return ""


async def extend(client, key):
    lock = client.lock(key, timeout=10)
    assert await settled(lock.acquire())
    assert await settled(lock.extend(20)) is True
    added = await settled(client.pttl(key))
    assert 25_000 < added <= 30_000, f"TTL {added} ms after adding 20 s to 10 s"
    assert await settled(lock.extend(15, replace_ttl=True)) is True
    replaced = await settled(client.pttl(key))
    assert 10_000 < replaced <= 15_000, f"TTL {replaced} ms after replacing by 15 s"
    await settled(client.delete(key))
    await refused(LockNotOwnedError, lambda: lock.extend(10))
    assert await settled(lock.locked()) is False, "extending made a lock"
    return f"added_ttl_ms={added} replaced_ttl_ms={replaced}"


async def extend_outlives(client, key):
    lock = client.lock(key, timeout=0.4)
    started = time.monotonic()
    assert await settled(lock.acquire())
    assert await settled(lock.extend(0.4, replace_ttl=False))
    lived = await gone(lock, started)
    assert lived >= 0.799, f"expired after {lived:.3f} s of 0.8 s"
    return f"lived_s={lived:.3f}"


async def reacquire(client, key):
    lock = client.lock(key, timeout=10)
    assert await settled(lock.acquire())
    assert await settled(client.pexpire(key, 1_000))
    assert await settled(lock.reacquire()) is True
    ttl = await settled(client.pttl(key))
    assert 5_000 < ttl <= 10_000, f"TTL {ttl} ms"
    await settled(lock.release())
    await refused(LockError, lock.reacquire)
    return f"ttl_ms={ttl}"


async def reacquire_lost(client, key):
    lock, other = client.lock(key, timeout=10), client.lock(key, timeout=30)
    assert await settled(lock.acquire())
    await settled(client.delete(key))
    assert await settled(other.acquire())
    await refused(LockNotOwnedError, lock.reacquire)
    assert await settled(client.pttl(key)) > 10_000, "the loser changed the TTL"
    await settled(other.release())
    return ""


async def no_timeout(client, key):
    lock = client.lock(key)
    assert await settled(lock.acquire())
    ttl = await settled(client.pttl(key))
    assert ttl == -1, f"TTL {ttl} ms of a lock without timeout"
    await refused(LockError, lambda: lock.extend(10))
    await refused(LockError, lock.reacquire)
    await settled(lock.release())
    return ""


async def context_manager(client, key):
    lock = client.lock(key, timeout=30, blocking_timeout=0.1, sleep=0.02)
    held = client.lock(key, timeout=30)
    if isinstance(client, redis.Redis):
        with lock:
            assert lock.owned()
        with held:
            await refused(LockError, lock.__enter__)
    else:
        async with lock:
            assert await lock.owned()
        async with held:
            await refused(LockError, lock.__aenter__)
    assert not await settled(lock.locked()), "still locked after the block"
    return ""


async def script_flush(client, key):
    lock = client.lock(key, timeout=30)
    for _ in range(2):
        assert await settled(lock.acquire())
        await settled(client.script_flush())
        await settled(lock.release())
    return ""


async def pipeline(client, key):
    compare_and_delete = client.register_script(
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
    )
    pipe = client.pipeline(transaction=False)
    for value in ("one", "two"):
        await settled(pipe.set(key, value, nx=True, px=30_000))
    await settled(pipe.get(key))
    await settled(compare_and_delete(keys=[key], args=["two"], client=pipe))
    await settled(compare_and_delete(keys=[key], args=["one"], client=pipe))
    await settled(pipe.exists(key))
    replies = await settled(pipe.execute())
    assert replies == [True, None, b"one", 0, 1, 0], f"replies {replies}"
    for n in range(500):
        await settled(pipe.set(f"{key}:{n}", n, px=30_000))
        await settled(pipe.get(f"{key}:{n}"))
    replies = await settled(pipe.execute())
    assert replies[1::2] == [str(n).encode() for n in range(500)], "replies out of order"
    return f"replies={len(replies)}"


async def pipeline_error(client, key):
    pipe = client.pipeline(transaction=False)
    await settled(pipe.set(key, "text", px=30_000))
    await settled(pipe.hget(key, "field"))
    await settled(pipe.get(key))
    done, error, value = await settled(pipe.execute(raise_on_error=False))
    assert done is True and value == b"text", f"replies {done} {value}"
    assert str(error).startswith("WRONGTYPE"), f"error {error}"
    return ""


async def contention(client, key):
    users, rounds = 8, 15
    guarded = Guarded()
    if isinstance(client, redis.Redis):
        await contend_in_threads(client, key, guarded, users, rounds)
    else:
        await asyncio.gather(*(contend_in_task(client, key, guarded, rounds) for _ in range(users)))
    assert guarded.count == users * rounds, f"counter {guarded.count}"
    return f"grants={guarded.count}"


async def contend_in_task(client, key, guarded, rounds):
    for _ in range(rounds):
        async with client.lock(key, timeout=30, sleep=0.002):
            count = guarded.enter()
            await asyncio.sleep(0.001)
            guarded.leave(count)


async def contend_in_threads(client, key, guarded, users, rounds):
    failures = []

    def contend():
        try:
            for _ in range(rounds):
                with client.lock(key, timeout=30, sleep=0.002):
                    count = guarded.enter()
                    time.sleep(0.001)
                    guarded.leave(count)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=contend, daemon=True) for _ in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join, 60)
        assert not thread.is_alive(), "a thread waits for ever"
    assert not failures, failures


CASES = [
    acquire_release, blocking_timeout, expiry, release_errors, extend, extend_outlives, reacquire, reacquire_lost,
    no_timeout, context_manager, script_flush, pipeline, pipeline_error, contention,
]


async def run(name, case, client):
    """Runs one case within a time limit, prints its line, and tells whether it passed."""
    key = f"redis-py:{uuid.uuid4()}"
    try:
        details = await asyncio.wait_for(case(client, key), 60)
    except Exception as error:
        print(f"not ok {name} {type(error).__name__}: {' '.join(str(error).split())}", flush=True)
        traceback.print_exc()
        return False
    print(f"ok {name} {details}", flush=True)
    return True


def connect(module, options, settings):
    if options.sentinels:
        addresses = [address.rsplit(":", 1) for address in options.sentinels.split(",")]
        return module.sentinel.Sentinel(addresses, sentinel_kwargs=settings).master_for("mymaster", **settings)
    host, port = options.addr.rsplit(":", 1)
    return module.Redis(host=host, port=int(port), **settings)


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--addr", help="host:port of the server")
    where.add_argument("--sentinels", help="host:port,... of Sentinels")
    options = parser.parse_args()
    passed = True
    for protocol in (2, 3):
        for flavour, module in (("sync", redis), ("asyncio", redis.asyncio)):
            client = connect(module, options, {"protocol": protocol, "socket_timeout": 20})
            for case in CASES:
                name = f"resp{protocol}/{flavour}/{case.__name__.replace('_', '-')}"
                passed &= await run(name, case, client)
            await settled(client.close() if flavour == "sync" else client.aclose())
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
