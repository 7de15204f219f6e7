// Runs the lock libraries of Node.js against the server at --addr, in named cases.
//
// Options: --addr host:port or --sentinels host:port,..., --library NAME (see below), --protocol 2|3 (3), --ioredis 5|6 (6:
// the version of the client under the lock libraries; 5 speaks RESP2 only), --case NAME for one case only. Prints one line
// per case, "ok NAME DETAILS" or "not ok NAME REASON"; the exit code is 1 when any case failed.
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { lockCases } from './cases.js';
import { ioredisCases, ioredisLibrary } from './ioredis.js';
import { connectNodeRedis, nodeRedisCases, nodeRedisLibrary } from './node_redis.js';
import { redlock4Cases, redlock4Library, redlock5Cases, redlock5Library, sesamecareLibrary } from './redlock.js';
import { mutexCases, mutexLibraryOf, redlockMutexLibraryOf, semaphoreCases } from './semaphore.js';
import {
  universalCases, universalOnIoredis, universalOnNodeRedis, universalRedlock, universalRedlockCases,
} from './universal.js';

const TIME_LIMIT_MS = 60_000;

const libraries = {
  ioredis: { cases: ioredisCases, make: ioredisLibrary },
  redlock4: { cases: redlock4Cases, make: redlock4Library },
  redlock5: { cases: redlock5Cases, make: redlock5Library },
  sesamecare: { cases: redlock5Cases, make: sesamecareLibrary },
  mutex: { cases: mutexCases, make: mutexLibraryOf },
  'redlock-mutex': { cases: mutexCases, make: redlockMutexLibraryOf },
  semaphore: { cases: semaphoreCases, make: () => null },
  none: { cases: lockCases, make: noLock },
  'node-redis': { cases: nodeRedisCases, make: nodeRedisLibrary, nodeRedis: true },
  universal: { cases: universalCases, make: universalOnIoredis },
  'universal-redlock': { cases: universalRedlockCases, make: universalRedlock },
  'universal-on-node-redis': { cases: universalCases, make: universalOnNodeRedis, nodeRedis: true },
};

/** A lock that everybody gets at once: it shows that the cases notice. */
function noLock(client) {
  const acquire = async (key, ttl) => {
    await client.set(key, 'anybody', 'PX', ttl);
    return key;
  };
  return {
    stored: (key) => key,
    acquire,
    tryAcquire: acquire,
    extend: async (key, ttl) => (await client.set(key, 'anybody', 'PX', ttl)) === 'OK',
    release: async (key) => (await client.del(key)) >= 0,
  };
}

const { values: options } = parseArgs({
  options: {
    addr: { type: 'string' },
    sentinels: { type: 'string' },
    library: { type: 'string' },
    protocol: { type: 'string', default: '3' },
    ioredis: { type: 'string', default: '6' },
    case: { type: 'string' },
  },
});

/** HOST:PORT as the clients want it. */
function endpoint(address) {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** Where the server is, or who names it. */
const where = () =>
  options.sentinels
    ? { name: 'mymaster', sentinels: options.sentinels.split(',').map(endpoint) }
    : endpoint(options.addr);

function connectIoredis() {
  const Client = options.ioredis === '5' ? Redis5 : Redis;
  const client = new Client({ ...where(), protocol: Number(options.protocol), retryStrategy: null });
  client.on('error', (error) => console.error('ioredis:', error));
  return client;
}

/** Runs one case within a time limit, prints its line, and tells whether it passed. */
async function run(name, body, env) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done in ${TIME_LIMIT_MS} ms`)), TIME_LIMIT_MS);
  });
  try {
    const details = await Promise.race([body(env), limit]);
    console.log(`ok ${name} ${details ?? ''}`);
    return true;
  } catch (error) {
    console.log(`not ok ${name} ${String(error).replaceAll(/\s+/g, ' ')}`);
    console.error(error);
    return false;
  } finally {
    clearTimeout(timer);
  }
}

async function main() {
  const library = libraries[options.library];
  if (!(options.addr || options.sentinels) || !library) {
    throw new Error(`--addr and --library are required; libraries: ${Object.keys(libraries)}`);
  }
  const inspect = connectIoredis();
  const client = library.nodeRedis
    ? await connectNodeRedis(where(), Number(options.protocol))
    : connectIoredis();
  const lib = library.make(client);
  let passed = true;
  for (const [name, body] of Object.entries(library.cases)) {
    if (options.case && options.case !== name) continue;
    const key = `node:${randomUUID()}`;
    passed = (await run(name, body, { lib, client, inspect, key })) && passed;
  }
  return passed;
}

const code = await main().then((passed) => (passed ? 0 : 1));
process.exit(code);
