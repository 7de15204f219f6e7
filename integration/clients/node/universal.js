// redlock-universal, over ioredis and over node-redis: a lock of one server, several keys at once, and Redlock.
import {
  createLock, IoredisAdapter, LockAcquisitionError, LockManager, NodeRedisAdapter, RedLock,
} from 'redlock-universal';
import { equal, sleep, that } from './check.js';
import { lockCases } from './cases.js';

const impatient = { retryAttempts: 0 };
const patient = { retryAttempts: 2_000, retryDelay: 5 };

/** What a promise gives, or null when the lock was refused. */
async function unlessRefused(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof LockAcquisitionError) return null;
    throw error;
  }
}

function universalLibrary(adapter, make) {
  const attempt = async (key, ttl, options) => {
    const lock = make({ key, ttl, ...options });
    const handle = await unlessRefused(lock.acquire());
    return handle && { lock, handle };
  };
  return {
    adapter,
    stored: (key) => key,
    tryAcquire: (key, ttl) => attempt(key, ttl, impatient),
    async acquire(key, ttl) {
      const held = await attempt(key, ttl, patient);
      that(held !== null, 'gave up waiting');
      return held;
    },
    extend: ({ lock, handle }, ttl) => lock.extend(handle, ttl),
    release: ({ lock, handle }) => lock.release(handle),
  };
}

const simple = (adapter) => universalLibrary(adapter, (options) => createLock({ adapter, ...options }));

export const universalOnIoredis = (client) => simple(new IoredisAdapter(client));
export const universalOnNodeRedis = (client) => simple(new NodeRedisAdapter(client));
export function universalRedlock(client) {
  const adapter = new IoredisAdapter(client);
  return universalLibrary(adapter, (options) => new RedLock({ adapters: [adapter], ...options }));
}

/** Several keys are locked at once or not at all. */
async function severalKeys({ lib, inspect, key }) {
  const keys = [1, 2, 3].map((n) => `${key}:${n}`);
  const manager = new LockManager({ nodes: [lib.adapter], defaultTTL: 30_000, defaultRetryAttempts: 0 });
  const second = await lib.acquire(keys[1], 30_000);
  that((await unlessRefused(manager.acquireBatch(keys))) === null, 'got three locks of which one was held');
  equal('keys after a refusal', 1, await inspect.exists(...keys));
  await lib.release(second);
  const handles = await manager.acquireBatch(keys);
  equal('keys', 3, await inspect.exists(...keys));
  that((await lib.tryAcquire(keys[2], 30_000)) === null, 'one of three held locks was granted again');
  await manager.releaseBatch(handles);
  equal('keys left', 0, await inspect.exists(...keys));
}

/** using() extends by itself, once when four fifths of the lease are over, for as long as its routine runs. */
async function using({ lib, inspect, key }) {
  const lock = createLock({ adapter: lib.adapter, key, ttl: 5_000, ...impatient });
  await lock.using(async (signal) => {
    const start = performance.now();
    while (performance.now() - start < 7_000) {
      that(!signal.aborted, 'aborted');
      that((await inspect.pttl(key)) > 0, 'the lock is gone under its routine');
      await sleep(50);
    }
  });
  equal('keys left', 0, await inspect.exists(key));
}

export const universalCases = { ...lockCases, 'several-keys': severalKeys, using };
export const universalRedlockCases = lockCases;
