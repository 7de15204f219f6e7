// What every lock library must do. A library is an object with
//   acquire(key, ttlMs)      waits for the lock; answers what its other functions take
//   tryAcquire(key, ttlMs)   answers null when the lock is held
//   extend(held, ttlMs)      gives a held lock a new TTL; answers whether it was still held
//   release(held)            answers whether the lock was still held
//   stored(key)              the key that the library keeps in the server
// and cases get it together with a plain client (inspect) and a key that nobody else uses.
import { equal, eventually, Guarded, sleep, that, within } from './check.js';

async function acquireRelease({ lib, inspect, key }) {
  const held = await lib.acquire(key, 30_000);
  const ttl = await inspect.pttl(lib.stored(key));
  within('TTL in ms', 25_000, ttl, 30_000);
  equal('release by the owner', true, await lib.release(held));
  equal('keys left', 0, await inspect.exists(lib.stored(key)));
  equal('a second release', false, await lib.release(held));
  return `ttl_ms=${ttl}`;
}

async function heldIsRefused({ lib, key }) {
  const held = await lib.acquire(key, 30_000);
  that((await lib.tryAcquire(key, 30_000)) === null, 'another owner got a held lock');
  equal('release after a refusal', true, await lib.release(held));
  const next = await lib.tryAcquire(key, 30_000);
  that(next !== null, 'not free after its release');
  equal('release by the next owner', true, await lib.release(next));
}

async function waits({ lib, key }) {
  const held = await lib.acquire(key, 30_000);
  let next = null;
  const waiting = lib.acquire(key, 30_000).then((got) => (next = got));
  await sleep(150);
  that(next === null, 'another owner got a held lock');
  await lib.release(held);
  await waiting;
  equal('release by the waiter', true, await lib.release(next));
}

async function extend({ lib, inspect, key }) {
  const held = await lib.acquire(key, 3_000);
  equal('extend by the owner', true, await lib.extend(held, 20_000));
  const ttl = await inspect.pttl(lib.stored(key));
  within('TTL in ms after extending', 15_000, ttl, 20_000);
  equal('release after extending', true, await lib.release(held));
  return `ttl_ms=${ttl}`;
}

async function extendLost({ lib, inspect, key }) {
  const held = await lib.acquire(key, 20_000);
  equal('deleted keys', 1, await inspect.del(lib.stored(key)));
  equal('extending a lost lock', false, await lib.extend(held, 20_000));
  equal('keys made by extending a lost lock', 0, await inspect.exists(lib.stored(key)));
}

async function expiry({ lib, key }) {
  const start = performance.now();
  const held = await lib.acquire(key, 400);
  const next = await lib.acquire(key, 30_000);
  const waited = Math.round(performance.now() - start);
  within('ms until the next owner', 398, waited, 8_000);
  equal('release by the former owner', false, await lib.release(held));
  that((await lib.tryAcquire(key, 30_000)) === null, "the former owner's release took the lock away");
  equal('release by the next owner', true, await lib.release(next));
  return `next_owner_after_ms=${waited}`;
}

/** Without its scripts the server answers NOSCRIPT, and the library sends the text. */
async function scriptFlush({ lib, inspect, key }) {
  for (let i = 0; i < 2; i++) {
    const held = await lib.acquire(key, 30_000);
    await inspect.script('FLUSH');
    equal('extend after SCRIPT FLUSH', true, await lib.extend(held, 30_000));
    await inspect.script('FLUSH');
    equal('release after SCRIPT FLUSH', true, await lib.release(held));
  }
}

async function contention({ lib, key }) {
  const users = 6;
  const rounds = 8;
  const guarded = new Guarded();
  const use = async () => {
    for (let round = 0; round < rounds; round++) {
      const held = await lib.acquire(key, 30_000);
      await guarded.use();
      equal('release by the owner', true, await lib.release(held));
    }
  };
  await Promise.all(Array.from({ length: users }, use));
  equal('counter', users * rounds, guarded.count);
  return `grants=${guarded.count}`;
}

export const lockCases = {
  'acquire-release': acquireRelease,
  'held-is-refused': heldIsRefused,
  waits,
  extend,
  'extend-lost': extendLost,
  expiry,
  'script-flush': scriptFlush,
  contention,
};

/** A message wakes a subscriber: how programs wait without polling. */
export async function pubSub({ lib, inspect, key }) {
  const received = [];
  const end = await lib.subscribe(key, (message) => received.push(message));
  equal('receivers', 1, await inspect.publish(key, 'free'));
  await eventually('the message', () => received.length === 1);
  equal('messages', ['free'], received);
  await end();
  equal('receivers after unsubscribing', 0, await inspect.publish(key, 'free'));
}
