import { afterEach, describe, expect, it } from 'vitest';
import { chatRequest, chatResponse, createFakeEngine } from '../../../test/support/fake-engine.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { createTestPool } from '../../../test/support/test-pool.ts';
import { ApiError } from '../../core/errors.ts';
import type { ChatResponse } from '../../wire/chat/chat.ts';
import type { EngineCall, Pool } from '../engines.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Running {
  call: EngineCall;
  answer: () => Promise<void>;
}

describe('the admission queue', () => {
  let pool: Pool;
  afterEach(() => pool.stop());

  /** A pool of one server, and the requests that it works on, in order. */
  function start(slots: number) {
    const running: Running[] = [];
    const order: string[] = [];
    const engine = {
      ...createFakeEngine(),
      slots,
      generate: (_: unknown, call: EngineCall) =>
        new Promise<ChatResponse>((resolve) => {
          order.push(call.org ?? '');
          const each: Running = {
            call,
            async answer() {
              running.splice(running.indexOf(each), 1);
              resolve(chatResponse('fine'));
              await turn();
              await turn();
            },
          };
          running.push(each);
        }),
    };
    pool = createTestPool(engine, { clock: createManualClock() });
    const ask = (org: string, more: Partial<EngineCall> = {}): Promise<string> =>
      pool
        .generate(chatRequest(), {
          signal: new AbortController().signal,
          priority: 'interactive',
          org,
          ...more,
        })
        .then(
          () => 'answered',
          (error: unknown) => (error instanceof ApiError ? error.code : 'error'),
        );
    const askMany = (count: number, org: string, more?: Partial<EngineCall>) =>
      Array.from({ length: count }, () => ask(org, more));
    const held = (org: string) => running.filter(({ call }) => call.org === org).length;
    const next = (org: string) => running.find(({ call }) => call.org === org)!;
    const drain = async () => {
      while (running.length > 0) await running[0]!.answer();
    };
    return { running, order, ask, askMany, held, next, drain };
  }

  it('gives a free slot to the org that holds the fewest', async () => {
    const { askMany, held, next, running, drain } = start(8);
    const all = [...askMany(40, 'a')];
    const most = running.length;
    all.push(...askMany(40, 'b'));
    // Requests of a take ten times as long as those of b: b gets its half of the slots all the same.
    for (let at = 0; at < 30; at++) await next(held('b') > 0 && at % 10 > 0 ? 'b' : 'a').answer();
    expect(running).toHaveLength(most);
    expect(held('b')).toBeGreaterThanOrEqual(3);
    await drain();
    expect(new Set(await Promise.all(all))).toEqual(new Set(['answered']));
  });

  it('gives an org with weight 2 twice the slots of another', async () => {
    const { askMany, held, running, drain } = start(8);
    const all = [...askMany(30, 'a', { weight: 2 }), ...askMany(30, 'b'), ...askMany(30, 'c')];
    for (let at = 0; at < 20; at++) await running[0]!.answer();
    expect(running).toHaveLength(10);
    expect([held('a'), held('b'), held('c')].map((slots) => Math.round(slots / 2.5))).toEqual([2, 1, 1]);
    await drain();
    await Promise.all(all);
  });

  it('has room for twice as many requests of an org with weight 2', async () => {
    const { askMany, drain } = start(1);
    const outcomes = [...askMany(90, 'a', { weight: 2 }), ...askMany(90, 'b')];
    await turn();
    await drain();
    const answered = async (of: Promise<string>[]) =>
      (await Promise.all(of)).filter((outcome) => outcome === 'answered').length;
    // 3 run and 64 wait.
    const [a, b] = [await answered(outcomes.slice(0, 90)), await answered(outcomes.slice(90))];
    expect(a + b).toBe(67);
    expect(Math.abs(b - 64 / 3)).toBeLessThan(1);
  });

  describe('under a permanent load of interactive requests', () => {
    const busy = (guaranteed: number) => {
      const started = start(4);
      pool.guaranteeBatches(() => guaranteed);
      const { askMany, running, ask, drain, held } = started;
      const load = askMany(60, 'busy');
      const lines = askMany(20, 'lines', { priority: 'batch' });
      /** Answers requests in order, each followed by a new one. */
      const answerMany = async (count: number) => {
        for (let at = 0; at < count; at++) {
          await running[0]!.answer();
          load.push(ask('busy'));
        }
      };
      const end = async () => {
        await drain();
        await Promise.all([...load, ...lines]);
      };
      return { lines, held, answerMany, end, order: started.order };
    };

    it('gives batch lines the slots that they are guaranteed, and no more', async () => {
      const { held, answerMany, end, order } = busy(1);
      await answerMany(10);
      for (let at = 0; at < 40; at++) {
        await answerMany(1);
        expect(held('lines')).toBe(1);
      }
      const sent = order.slice(-40).filter((org) => org === 'lines').length;
      expect(sent).toBeGreaterThan(4);
      expect(sent).toBeLessThan(10);
      await end();
    });

    it('makes batch lines wait where nothing is guaranteed', async () => {
      const { held, answerMany, end } = busy(0);
      await answerMany(40);
      expect(held('lines')).toBe(0);
      await end();
    });
  });
});
