import { describe, expect, it } from 'vitest';
import { h200 } from '../../../../test/support/batching-curves.ts';
import type { BatchingCurve } from '../../../../test/support/batching-server.ts';
import { linesOf } from '../../../../test/support/batching-load.ts';
import { arrivalsOf, type Presence, runBeside } from '../../../../test/support/batching-presence.ts';
import { chatRequest, chatResponse, createFakeEngine } from '../../../../test/support/fake-engine.ts';
import { createManualClock } from '../../../../test/support/manual-clock.ts';
import { silent } from '../../../base/log.ts';
import type { CallTrace } from '../../../core/call-trace.ts';
import type { ChatResponse } from '../../../wire/chat/chat.ts';
import type { EngineCall } from '../../engines.ts';
import { createPool } from '../pool.ts';

const ms = 100_000;
/** Chats of a third of a second, about two at a time, for a tenth of the time. */
const presence: Presence = { onMs: 10_000, everyMs: 100_000, perSecond: 6, tokens: 28 };
const p99 = (all: readonly number[]) => all.toSorted((a, b) => a - b)[Math.ceil(all.length * 0.99) - 1]!;

async function compare(curve: BatchingCurve, tokens: number, maxSlowdown: number) {
  const arrivals = arrivalsOf(presence, ms);
  const lines = linesOf(2_000, tokens);
  const warmUpMs = 60_000;
  const alone = await runBeside({ curve, arrivals, ms, lines: [] });
  const full = await runBeside({ curve, arrivals, ms, lines, warmUpMs });
  const limited = await runBeside({ curve, arrivals, ms, lines, warmUpMs, maxSlowdown });
  const slowdown = ({ latencies }: typeof full) => p99(latencies) / p99(alone.latencies);
  return {
    slowdown: { full: slowdown(full), limited: slowdown(limited) },
    throughput: limited.tokens / full.tokens,
    limit: { full: full.world.pool.maxInFlight, limited: limited.world.pool.maxInFlight },
    gaveWay: limited.gaveWay,
  };
}

describe('batches beside interactive requests', () => {
  it.each([96, 400])(
    'slow them within the permitted factor on a server with continuous batching, and hardly less work is done: %i tokens',
    async (tokens) => {
      const { slowdown, throughput, limit } = await compare(h200, tokens, 1.3);
      expect(slowdown.full).toBeGreaterThan(1.4);
      expect(slowdown.limited).toBeLessThanOrEqual(1.3);
      expect(throughput).toBeGreaterThanOrEqual(0.9);
      // The discovered limit stays.
      expect(limit.limited / limit.full).toBeGreaterThan(0.85);
    },
  );

  it('lose little on a server with slots', async () => {
    const steps: BatchingCurve['steps'] = [
      [1, 12],
      [64, 12],
    ];
    const slots = { ...h200, steps, readMs: 0, maxRunning: 64 };
    const { slowdown, throughput } = await compare(slots, 96, 1.3);
    expect(slowdown.limited).toBeLessThanOrEqual(slowdown.full * 1.05);
    expect(throughput).toBeGreaterThanOrEqual(0.95);
  });
});

describe('a line that gives way', () => {
  function poolOfTen(maxSlowdown: number | undefined) {
    const open: { call: EngineCall; answer: () => void }[] = [];
    const engine = {
      ...createFakeEngine(),
      slots: 10,
      generate: (_: unknown, call: EngineCall) =>
        new Promise<ChatResponse>((resolve, reject) => {
          const entry = { call, answer: () => resolve(chatResponse('fine')) };
          open.push(entry);
          call.signal.addEventListener('abort', () => {
            open.splice(open.indexOf(entry), 1);
            reject(call.signal.reason as Error);
          });
        }),
    };
    const clock = createManualClock();
    const random = { bytes: (n: number) => new Uint8Array(n), float: () => 0 };
    const replicas = [{ name: 'gpu', engine, account: 'gpu', weight: 1, isDraining: false }];
    const pool = createPool({ replicas, clock, random, log: silent, maxSlowdown });
    const send = (
      priority: EngineCall['priority'],
      trace: CallTrace = {},
      signal = new AbortController().signal,
    ) => pool.generate(chatRequest(), { priority, signal, trace });
    const answerAll = () => open.splice(0).forEach(({ answer }) => answer());
    return { pool, clock, open, send, answerAll };
  }

  it('is sent again, as the same call of a server that works', async () => {
    const { pool, clock, open, send, answerAll } = poolOfTen(2);
    const traces = Array.from({ length: 10 }, (): CallTrace => ({}));
    const lines = traces.map((trace) => send('batch', trace));
    await clock.advance(100);
    const chat = send('interactive');
    await clock.advance(50);
    expect(open).toHaveLength(5);
    expect(pool.replicas[0]).toMatchObject({ inFlight: 5, gaveWay: 6, health: 'up' });
    answerAll();
    await chat;
    await clock.advance(12_000);
    expect(open).toHaveLength(6);
    answerAll();
    expect(await Promise.all(lines)).toHaveLength(10);
    expect(pool.outcomes).toMatchObject({ answers: 11, breaks: 0 });
    expect(traces.map(({ calls, queuedMs }) => [calls, queuedMs! > 100])).toEqual(
      traces.map((_, at) => [1, at >= 4]),
    );
  });

  it('can be cancelled while it waits', async () => {
    const { clock, open, send } = poolOfTen(2);
    const controller = new AbortController();
    const lines = Array.from({ length: 10 }, () => send('batch', {}, controller.signal));
    void send('interactive');
    await clock.advance(50);
    controller.abort(new Error('cancelled'));
    const ends = await Promise.allSettled(lines);
    expect(ends.every((end) => end.status === 'rejected' && String(end.reason).includes('cancelled'))).toBe(
      true,
    );
    expect(open).toHaveLength(1);
  });

  it('is not needed where batches may slow interactive requests by any factor', async () => {
    const { clock, open, send } = poolOfTen(undefined);
    for (let n = 0; n < 10; n++) void send('batch');
    void send('interactive');
    await clock.advance(50);
    expect(open).toHaveLength(11);
  });
});
