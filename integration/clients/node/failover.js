// Two users of one lock with ioredis while the master is killed. They know nothing but Sentinels. See the README for what
// is read and printed.
//
// Usage: failover.js HOST:PORT,... KEY
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { sleep } from './check.js';
import { compareAndDelete } from './ioredis.js';

const LEASE_MS = 30_000;
const PATIENCE_MS = 60_000;
const [, , addresses, key] = process.argv;

function user() {
  const sentinels = addresses.split(',').map((a) => ({ host: a.split(':')[0], port: Number(a.split(':')[1]) }));
  const client = new Redis({ name: 'mymaster', sentinels, retryStrategy: () => 50, sentinelRetryStrategy: () => 50 });
  client.on('error', () => {}); // each call tells of its own
  return client;
}

/** Calls until there is an answer. */
async function answered(call) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(20);
    }
  }
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function expect(order) {
  const { value } = await lines.next();
  if (value !== order) throw new Error(`want ${order}, got ${value}`);
}

const [alice, bob] = [user(), user()];
const [mine, his] = [randomUUID(), randomUUID()];
const take = (client, token) => client.set(key, token, 'PX', LEASE_MS, 'NX');
await answered(() => alice.get(key));
await answered(() => bob.get(key));
console.log('connected');
await expect('lock');
if ((await take(alice, mine)) !== 'OK') throw new Error('a free lock is refused');
let got = false;
const woken = (async () => {
  while ((await answered(() => take(bob, his))) !== 'OK' && (await answered(() => bob.get(key))) !== his) await sleep(20);
  got = true;
})();
console.log('held');
await expect('failed');
console.log('alice', (await answered(() => alice.get(key))) === mine ? 1 : 0);
await expect('watched');
console.log('bob', got ? 'got' : 'waits');
await expect('release');
console.log('released', await answered(() => alice.eval(compareAndDelete, 1, key, mine)));
await woken;
console.log('bob got');
process.exit(0);
