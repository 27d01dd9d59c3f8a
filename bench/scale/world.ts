import { hourMs } from '../../src/base/clock.ts';
import { dueAt } from '../../src/core/urgency.ts';
import type { SeededRandom } from '../../test/support/seeded-random.ts';
import type { SimBatch, SimBatches } from './batches.ts';
import { lineShape, type ScaleOptions } from './options.ts';

const windowMs = 24 * hourMs;
/** Age of the oldest batch at the start; older ones have ended. */
const maxAgeMs = 12 * hourMs;
const priority = 5;

/** True for an org with batches that end soon. */
export function hasLateWork(org: number, { orgs, late }: Pick<ScaleOptions, 'orgs' | 'late'>): boolean {
  return org < orgs && org % late.every === 0;
}

/** Weight of an org: most have 1, some 2 to 4, and a few 10. */
export function weightOf(org: number): number {
  if (org % 20 === 7) return 10;
  return org % 20 < 3 ? 2 + (org % 3) : 1;
}

/** Normally distributed number, by Box and Muller. */
function normal(random: SeededRandom): number {
  return Math.sqrt(-2 * Math.log(1 - random.float())) * Math.cos(2 * Math.PI * random.float());
}

/** Number whose logarithm is normally distributed around a mean. */
function lognormal(random: SeededRandom, mean: number, sigma: number): number {
  return mean * Math.exp(sigma * normal(random) - sigma ** 2 / 2);
}

/** Lines of a batch: half have up to 50, few have thousands. */
function linesOfBatch(random: SeededRandom): number {
  return Math.min(50_000, Math.floor(20 / (1 - random.float()) ** 0.85));
}

/** Org of a batch: a few orgs have most batches. */
function orgOfBatch(random: SeededRandom, orgs: number): number {
  return random.chance(0.5) ? random.int(0, orgs - 1) : Math.floor(orgs * random.float() ** 3);
}

/** Chooses a model by its servers. An org uses the two that its number selects. */
export function modelOfOrg(org: number, isSecond: boolean, replicas: readonly number[]): number {
  const total = replicas.reduce((sum, count) => sum + count, 0);
  // Multiples of the golden ratio spread the orgs evenly.
  let at = ((org * 0.618_034 + (isSecond ? 0.5 : 0)) % 1) * total;
  for (const [model, count] of replicas.entries()) {
    if (at < count) return model;
    at -= count;
  }
  return 0;
}

export interface NewBatch {
  org: number;
  model: number;
  createdAt: number;
  expiresAt: number;
  total: number;
}

/** Adds a batch at the place in the queue of its org that the server would give it. */
export function addBatch(batches: SimBatches, random: SeededRandom, fields: NewBatch): SimBatch {
  const promptTokens = Math.ceil(lognormal(random, 500, 1));
  const est = promptTokens + lineShape.estimatedOutput;
  const { createdAt, expiresAt, total } = fields;
  const due = dueAt(createdAt + Math.min(est * total, (expiresAt - createdAt) / 2), priority);
  return batches.add({ ...fields, promptTokens, est, due });
}

/** Adds the batches that are open at the start. @returns those whose windows end during the run */
export function addOpenBatches(
  batches: SimBatches,
  random: SeededRandom,
  { orgs, open, replicas, late }: ScaleOptions,
  now: number,
): SimBatch[] {
  const ending: SimBatch[] = [];
  for (let n = 0; n < open; n++) {
    // Every org has work.
    const org = n < orgs ? n : orgOfBatch(random, orgs);
    const createdAt = now - random.int(0, maxAgeMs);
    addBatch(batches, random, {
      org,
      model: modelOfOrg(org, n >= orgs && random.chance(0.3), replicas),
      createdAt,
      expiresAt: createdAt + windowMs,
      total: linesOfBatch(random),
    });
  }
  for (let org = 0; org < orgs; org++)
    for (let left = hasLateWork(org, { orgs, late }) ? late.lines : 0; left > 0;) {
      const total = Math.min(left, random.int(1, 60));
      left -= total;
      const expiresAt = now + random.int(late.minMs, late.maxMs);
      const model = modelOfOrg(org, false, replicas);
      ending.push(
        addBatch(batches, random, { org, model, createdAt: expiresAt - windowMs, expiresAt, total }),
      );
    }
  return ending;
}

/** Time in a slot and tokens of a line of a batch. */
export function drawLine({ promptTokens }: SimBatch, random: SeededRandom, tokenMs: number) {
  const outputTokens = Math.min(4_096, Math.ceil(lognormal(random, lineShape.outputTokens, 0.6)));
  return { ms: outputTokens * tokenMs, inputTokens: promptTokens, outputTokens };
}
