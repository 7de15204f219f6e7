// Locks made by hand with node-redis, the client of the package "redis".
import { randomUUID } from 'node:crypto';
import { createClient, createSentinel, defineScript } from 'redis';
import { equal, that } from './check.js';
import { lockCases, pubSub } from './cases.js';
import { compareAndDelete, compareAndExpire, polled } from './ioredis.js';

const script = (SCRIPT) =>
  defineScript({
    SCRIPT,
    NUMBER_OF_KEYS: 1,
    parseCommand(parser, key, ...args) {
      parser.pushKey(key);
      parser.push(...args);
    },
    transformReply: (reply) => reply,
  });

/** Connects with the server at {host, port}, or with the master that {name, sentinels} name. */
export async function connectNodeRedis(where, RESP) {
  const scripts = { compareAndDelete: script(compareAndDelete), compareAndExpire: script(compareAndExpire) };
  const client = where.sentinels
    ? createSentinel({ name: where.name, sentinelRootNodes: where.sentinels, RESP, scripts })
    : createClient({ socket: where, RESP, scripts });
  client.on('error', (error) => console.error('node-redis:', error));
  return client.connect();
}

export function nodeRedisLibrary(client) {
  const lib = {
    stored: (key) => key,
    async tryAcquire(key, value) {
      const token = randomUUID();
      const reply = await client.set(key, token, { condition: 'NX', expiration: { type: 'PX', value } });
      return reply === 'OK' ? { key, token } : null;
    },
    acquire: (key, ttl) => polled(() => lib.tryAcquire(key, ttl)),
    extend: async ({ key, token }, ttl) => (await client.compareAndExpire(key, token, String(ttl))) === 1,
    release: async ({ key, token }) => (await client.compareAndDelete(key, token)) === 1,
    async subscribe(channel, onMessage) {
      const subscriber = client.duplicate();
      await subscriber.connect();
      await subscriber.subscribe(channel, onMessage);
      return async () => {
        await subscriber.unsubscribe(channel);
        subscriber.destroy();
      };
    },
  };
  return lib;
}

/** Commands sent together are pipelined without MULTI; each has its own outcome. */
async function pipeline({ client, key }) {
  const NX = { condition: 'NX', expiration: { type: 'PX', value: 30_000 } };
  const outcomes = await Promise.allSettled([
    client.set(key, 'me', NX), client.set(key, 'you', NX), client.hGet(key, 'field'), client.get(key),
  ]);
  equal('replies', ['OK', null, undefined, 'me'], outcomes.map((outcome) => outcome.value));
  that(String(outcomes[2].reason).includes('WRONGTYPE'), `error ${outcomes[2].reason}`);
}

async function multi({ client, key }) {
  const replies = await client.multi().set(key, '1').incr(key).hSet(`${key}:h`, { a: '1', b: '2' }).hGetAll(`${key}:h`).exec();
  equal('replies', ['OK', 2, 2, { a: '1', b: '2' }], replies);
  await client.del([key, `${key}:h`]);
}

export const nodeRedisCases = { ...lockCases, 'pub-sub': pubSub, pipeline, multi };
