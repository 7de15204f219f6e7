// Assertions and waits of the cases.

/** Bound of every wait for something that is due at once, in ms: generous, as the machine may be busy. */
export const PATIENCE_MS = 10_000;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function that(condition, message) {
  if (!condition) throw new Error(message);
}

export function equal(what, want, got) {
  that(JSON.stringify(want) === JSON.stringify(got), `${what}: want ${JSON.stringify(want)}, got ${JSON.stringify(got)}`);
}

/** Fails unless low < value <= high. */
export function within(what, low, value, high) {
  that(value > low && value <= high, `${what} is ${value}, not above ${low} and up to ${high}`);
}

/** Waits until the condition, which may be async, holds. */
export async function eventually(what, condition, patience = PATIENCE_MS) {
  const deadline = performance.now() + patience;
  while (!(await condition())) {
    that(performance.now() < deadline, `waited in vain: ${what}`);
    await sleep(5);
  }
}

/** A counter that notices when more than limit users are inside at once, and updates that are lost. */
export class Guarded {
  inside = 0;
  most = 0;
  count = 0;

  constructor(limit = 1) {
    this.limit = limit;
  }

  async use() {
    this.inside++;
    this.most = Math.max(this.most, this.inside);
    that(this.inside <= this.limit, `${this.inside} owners inside, ${this.limit} allowed`);
    const count = this.count;
    await sleep(1);
    this.count = this.limit === 1 ? count + 1 : this.count + 1;
    this.inside--;
  }
}
