// Locks made by hand with ioredis: SET NX PX, and scripts that compare before they act (redis.io, "Distributed
// Locks with Redis").
import { randomUUID } from 'node:crypto';
import { equal, sleep, that } from './check.js';
import { lockCases, pubSub } from './cases.js';

export const compareAndDelete = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
export const compareAndExpire =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";

export function ioredisLibrary(client) {
  client.defineCommand('compareAndDelete', { numberOfKeys: 1, lua: compareAndDelete });
  client.defineCommand('compareAndExpire', { numberOfKeys: 1, lua: compareAndExpire });
  const lib = {
    stored: (key) => key,
    async tryAcquire(key, ttl) {
      const token = randomUUID();
      return (await client.set(key, token, 'PX', ttl, 'NX')) === 'OK' ? { key, token } : null;
    },
    acquire: (key, ttl) => polled(() => lib.tryAcquire(key, ttl)),
    extend: async ({ key, token }, ttl) => (await client.compareAndExpire(key, token, ttl)) === 1,
    release: async ({ key, token }) => (await client.compareAndDelete(key, token)) === 1,
    async subscribe(channel, onMessage) {
      const subscriber = client.duplicate();
      subscriber.on('message', (_, message) => onMessage(message));
      await subscriber.subscribe(channel);
      return async () => {
        await subscriber.unsubscribe(channel);
        subscriber.disconnect();
      };
    },
  };
  return lib;
}

/** Tries again every 5 ms until the lock is there. */
export async function polled(tryAcquire) {
  for (;;) {
    const held = await tryAcquire();
    if (held !== null) return held;
    await sleep(5);
  }
}

/** Replies of a pipeline come in order, an error among them. */
async function pipeline({ client, key }) {
  const pipe = client.pipeline();
  pipe.set(key, 'me', 'PX', 30_000, 'NX').set(key, 'you', 'PX', 30_000, 'NX').hget(key, 'field').get(key);
  const replies = await pipe.exec();
  equal('replies', ['OK', null, undefined, 'me'], replies.map(([, value]) => value));
  that(String(replies[2][0]).includes('WRONGTYPE'), `error ${replies[2][0]}`);
}

async function multi({ client, key }) {
  const replies = await client.multi().set(key, '1', 'PX', 30_000).incr(key).pttl(key).exec();
  equal('errors', [null, null, null], replies.map(([error]) => error));
  equal('replies', ['OK', 2], replies.slice(0, 2).map(([, value]) => value));
  const watching = client.duplicate();
  await watching.watch(key);
  await client.set(key, 'other');
  equal('EXEC after a watched key changed', null, await watching.multi().set(key, 'mine').exec());
  watching.disconnect();
  equal('value', 'other', await client.get(key));
}

export const ioredisCases = { ...lockCases, 'pub-sub': pubSub, pipeline, multi };
