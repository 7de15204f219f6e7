// redis-semaphore: mutexes as strings, semaphores as sorted sets whose scores are the client's clock.
import { MultiSemaphore, Mutex, RedlockMutex, Semaphore } from 'redis-semaphore';
import { equal, Guarded, PATIENCE_MS, sleep, that } from './check.js';
import { lockCases } from './cases.js';

const once = { acquireAttemptsLimit: 1, refreshInterval: 0 };
const waiting = { acquireTimeout: PATIENCE_MS, retryInterval: 5, refreshInterval: 0 };

/** A library of mutexes; make(key, options) makes one. Only the server knows whether a release was in time. */
function mutexLibrary(client, make) {
  const attempt = async (key, options) => {
    const mutex = make(key, options);
    return (await mutex.tryAcquire()) ? { key, mutex } : null;
  };
  const lib = {
    stored: (key) => `mutex:${key}`,
    tryAcquire: (key, lockTimeout) => attempt(key, { ...once, lockTimeout }),
    async acquire(key, lockTimeout) {
      const held = await attempt(key, { ...waiting, lockTimeout });
      that(held !== null, 'acquire timed out');
      return held;
    },
    async extend({ key, mutex }, lockTimeout) {
      const { identifier } = mutex;
      return make(key, { ...once, lockTimeout, identifier, acquiredExternally: true }).tryAcquire();
    },
    async release({ key, mutex }) {
      const owned = (await client.get(lib.stored(key))) === mutex.identifier;
      await mutex.release();
      that((await client.get(lib.stored(key))) !== mutex.identifier, 'release left the lock');
      return owned;
    },
  };
  return lib;
}

export const mutexLibraryOf = (client) => mutexLibrary(client, (key, options) => new Mutex(client, key, options));
export const redlockMutexLibraryOf = (client) =>
  mutexLibrary(client, (key, options) => new RedlockMutex([client], key, options));

/** A mutex refreshes itself, and tells when it finds that it is lost. */
async function refresh({ client, key }) {
  let lost = 0;
  const options = { lockTimeout: 600, refreshInterval: 200, onLockLost: () => lost++ };
  const mutex = new Mutex(client, key, options);
  await mutex.acquire();
  for (let i = 0; i < 15; i++) {
    await sleep(100);
    that((await client.pttl(`mutex:${key}`)) > 0, 'the mutex is gone under its owner');
  }
  equal('losses', 0, lost);
  await client.del(`mutex:${key}`);
  await sleep(600);
  equal('losses after a deletion', 1, lost);
  equal('isAcquired', false, mutex.isAcquired);
}

async function semaphoreLimit({ client, key }) {
  const [limit, users, rounds] = [3, 8, 5];
  const guarded = new Guarded(limit);
  const use = async () => {
    for (let round = 0; round < rounds; round++) {
      const semaphore = new Semaphore(client, key, limit, { ...waiting, lockTimeout: 30_000 });
      await semaphore.acquire();
      await guarded.use();
      // The first to come stay until as many as may are inside, or it is clear that they will not.
      for (let wait = 0; guarded.most < limit && wait < 1000; wait++) {
        guarded.most = Math.max(guarded.most, await client.zcard(`semaphore:${key}`));
        await sleep(1);
      }
      await semaphore.release();
    }
  };
  await Promise.all(Array.from({ length: users }, use));
  equal('counter', users * rounds, guarded.count);
  equal('most users at once', limit, guarded.most);
  equal('permits left behind', 0, await client.zcard(`semaphore:${key}`));
  return `grants=${guarded.count} most=${guarded.most}`;
}

async function semaphoreExpires({ client, key }) {
  const options = { ...once, lockTimeout: 400 };
  const [first, second, third] = [1, 2, 3].map(() => new Semaphore(client, key, 2, options));
  equal('first', true, await first.tryAcquire());
  equal('second', true, await second.tryAcquire());
  equal('third of two', false, await third.tryAcquire());
  await sleep(450);
  equal('third after the others have expired', true, await third.tryAcquire());
  await first.release();
  equal("permits after a late owner's release", 1, await client.zcard(`semaphore:${key}`));
  await third.release();
}

async function semaphoreRefresh({ client, key }) {
  const semaphore = new Semaphore(client, key, 1, { lockTimeout: 600, refreshInterval: 200 });
  await semaphore.acquire();
  await sleep(1_500);
  const other = new Semaphore(client, key, 1, { ...once, lockTimeout: 600 });
  equal('a second user beside one that refreshes', false, await other.tryAcquire());
  await semaphore.release();
  equal('after its release', true, await other.tryAcquire());
  await other.release();
}

async function multiSemaphore({ client, key }) {
  const make = (permits) => new MultiSemaphore(client, key, 5, permits, { ...once, lockTimeout: 30_000 });
  const [three, two, one] = [make(3), make(2), make(1)];
  equal('three of five', true, await three.tryAcquire());
  equal('two of the two left', true, await two.tryAcquire());
  equal('one of none', false, await one.tryAcquire());
  await three.release();
  equal('permits in use', 2, await client.zcard(`semaphore:${key}`));
  equal('one of three', true, await one.tryAcquire());
  equal('three of two', false, await make(3).tryAcquire());
  await Promise.all([one.release(), two.release()]);
  equal('permits in use at last', 0, await client.zcard(`semaphore:${key}`));
}

export const mutexCases = { ...lockCases, refresh };
export const semaphoreCases = {
  limit: semaphoreLimit,
  expires: semaphoreExpires,
  refresh: semaphoreRefresh,
  'several-permits': multiSemaphore,
};
