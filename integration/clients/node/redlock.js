// The three libraries that are called redlock, each over one server.
import Redlock4 from 'redlock4';
import Redlock5 from 'redlock5';
import sesamecare from '@sesamecare-oss/redlock';
import { equal, sleep, that } from './check.js';
import { lockCases } from './cases.js';

const impatient = { retryCount: 0 };
const patient = { retryCount: 2_000, retryDelay: 5, retryJitter: 3 };

/** The value of a promise, or otherwise when it fails with an error of that name; other errors go on. */
async function unless(errorName, promise, otherwise) {
  try {
    return await promise;
  } catch (error) {
    if (error.name !== errorName) throw error;
    return otherwise;
  }
}

/** Version 4: releasing or extending a lock that is lost is a LockError. */
export function redlock4Library(client) {
  const [waiting, trying] = [new Redlock4([client], patient), new Redlock4([client], impatient)];
  return {
    stored: (key) => key,
    several: (keys, ttl) => unless('LockError', trying.lock(keys, ttl), null),
    acquire: (key, ttl) => waiting.lock(key, ttl),
    tryAcquire: (key, ttl) => unless('LockError', trying.lock(key, ttl), null),
    extend: (held, ttl) => unless('LockError', trying.extend(held, ttl).then(() => true), false),
    release: (held) => unless('LockError', trying.unlock(held).then(() => true), false),
  };
}

/** Version 5 and its descendant: locks carry a set of keys, and what is lost is an ExecutionError. */
function redlock5Like(Redlock, client) {
  const redlock = new Redlock([client], patient);
  redlock.on('error', () => {}); // each vote against; what comes of them is the ExecutionError
  return {
    stored: (key) => key,
    several: (keys, ttl) => unless('ExecutionError', redlock.acquire(keys, ttl, impatient), null),
    acquire: (key, ttl) => redlock.acquire([key], ttl),
    tryAcquire: (key, ttl) => unless('ExecutionError', redlock.acquire([key], ttl, impatient), null),
    async extend(held, ttl) {
      const extended = await unless('ExecutionError', redlock.extend(held, ttl, impatient), null);
      return extended !== null;
    },
    release: (held) => unless('ExecutionError', redlock.release(held, impatient).then(() => true), false),
    using: (key, ttl, routine) =>
      redlock.using([key], ttl, { ...patient, automaticExtensionThreshold: 3_500 }, routine),
  };
}

export const redlock5Library = (client) => redlock5Like(Redlock5, client);
export const sesamecareLibrary = (client) => redlock5Like(sesamecare.Redlock, client);

/** Several resources are locked at once or not at all. */
async function severalKeys({ lib, inspect, key }) {
  const keys = [1, 2, 3].map((n) => `${key}:${n}`);
  const second = await lib.acquire(keys[1], 30_000);
  that((await lib.several(keys, 30_000)) === null, 'got three locks of which one was held');
  equal('keys after a refusal', 1, await inspect.exists(...keys));
  await lib.release(second);
  const all = await lib.several(keys, 30_000);
  that(all !== null, 'three free locks were refused');
  equal('keys', 3, await inspect.exists(...keys));
  that((await lib.tryAcquire(keys[2], 30_000)) === null, 'one of three held locks was granted again');
  equal('extend of all', true, await lib.extend(all, 30_000));
  equal('release of all', true, await lib.release(all));
  equal('keys left', 0, await inspect.exists(...keys));
}

/** using() extends by itself for as long as its routine runs, and so early that a leader can be elected meanwhile. */
async function using({ lib, inspect, key }) {
  await lib.using(key, 5_000, async (signal) => {
    const start = performance.now();
    while (performance.now() - start < 7_000) {
      that(!signal.aborted, `aborted: ${signal.error}`);
      that((await inspect.pttl(key)) > 0, 'the lock is gone under its routine');
      await sleep(50);
    }
  });
  equal('keys left', 0, await inspect.exists(key));
}

export const redlock4Cases = { ...lockCases, 'several-keys': severalKeys };
export const redlock5Cases = { ...redlock4Cases, using };
