import type { Engine, Pool } from '../../src/engines/engines.ts';
import { createPool } from '../../src/engines/pool/pool.ts';
import { silent } from '../../src/base/log.ts';
import { type BatchingEngine, createBatchingEngine } from './batching-engine.ts';
import type { BatchingCurve } from './batching-server.ts';
import { chatRequest } from './fake-engine.ts';
import { seededFloats } from './slot-server.ts';
import { createVirtualTime, type VirtualTime } from './virtual-clock.ts';

export interface Line {
  prompt: number;
  tokens: number;
}

/** Lines with prompts of 40 to 240 tokens, and answers with lognormal lengths around a median. */
export function linesOf(count: number, medianTokens: number, seed = 7): Line[] {
  const random = seededFloats(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Array.from({ length: count }, () => ({
    prompt: 40 + Math.floor(200 * random()),
    tokens: Math.max(
      16,
      Math.min(Math.ceil(5.3 * medianTokens), Math.round(medianTokens * Math.exp(0.6 * normal()))),
    ),
  }));
}

export function requestOf({ prompt, tokens }: Line) {
  const messages = [{ role: 'user' as const, content: 'x'.repeat(4 * prompt) }];
  return chatRequest({ messages, max_completion_tokens: tokens });
}

const never = new AbortController().signal;

/** Time in virtual milliseconds to run all lines, with as many in flight as `room` permits. */
export async function runLines(
  time: VirtualTime,
  engine: Pick<Engine, 'generate'>,
  lines: readonly Line[],
  limit: () => number,
  onRoom: (listener: () => void) => void,
): Promise<number> {
  let next = 0;
  let inFlight = 0;
  let done = 0;
  const begunAt = time.elapsed;
  const send = () => {
    while (next < lines.length && inFlight < limit()) {
      const line = lines[next++]!;
      inFlight++;
      engine
        .generate(requestOf(line), { signal: never, priority: 'batch' })
        .then(
          () => void done++,
          () => void next--,
        )
        .finally(() => {
          inFlight--;
          send();
        });
    }
  };
  onRoom(send);
  send();
  if (!(await time.run(time.elapsed + 36_000_000, () => done === lines.length)))
    throw new Error('lines are left');
  return time.elapsed - begunAt;
}

/** Runs lines with a fixed concurrency. */
export function runFixed(curve: BatchingCurve, lines: readonly Line[], concurrency: number): Promise<number> {
  const time = createVirtualTime({ float: seededFloats(1) });
  return runLines(
    time,
    createBatchingEngine(time.clock, curve),
    lines,
    () => concurrency,
    () => {},
  );
}

/** Runs lines with a limiter that gets the milliseconds of each answer per token. */
export function runLimited(
  curve: BatchingCurve,
  lines: readonly Line[],
  limiter: { readonly limit: number; answered(ms: number, inFlight: number): void },
): Promise<number> {
  const time = createVirtualTime({ float: seededFloats(1) });
  const engine = createBatchingEngine(time.clock, curve);
  const generate: Engine['generate'] = async (request, call) => {
    const sentAt = time.elapsed;
    const answer = await engine.generate(request, call);
    limiter.answered((time.elapsed - sentAt) / answer.usage.completion_tokens, engine.server.atServer + 1);
    return answer;
  };
  return runLines(
    time,
    { generate },
    lines,
    () => limiter.limit,
    () => {},
  );
}

export interface World {
  time: VirtualTime;
  engine: BatchingEngine;
  pool: Pool;
}

/** A pool in front of one server in virtual time. */
export function createWorld(curve: BatchingCurve, maxSlowdown = Infinity): World {
  const random = seededFloats(1);
  const time = createVirtualTime({ float: random });
  const engine = createBatchingEngine(time.clock, curve);
  const replicas = [{ name: 'gpu', engine, account: 'gpu', weight: 1, isDraining: false }];
  const pool = createPool({
    replicas,
    clock: time.clock,
    random: { float: random, bytes: (n) => new Uint8Array(n) },
    log: silent,
    maxSlowdown,
  });
  return { time, engine, pool };
}

/** Runs lines through the pool with a limit that it discovers. */
export function runDiscovered({ time, pool }: World, lines: readonly Line[]): Promise<number> {
  return runLines(
    time,
    pool,
    lines,
    () => pool.maxInFlight,
    (listener) => pool.onRoom(listener),
  );
}
