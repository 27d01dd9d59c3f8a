import { expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import type { SchemaVerdict } from './checker.ts';
import { createSchemaThreads } from './threads.ts';

const step = { source: '{}', text: null, limitMs: 1_000 };

/** Threads whose steps end when a test says so. */
function threadsOf(cores: number) {
  const running: ((verdict: SchemaVerdict) => void)[] = [];
  let made = 0;
  const newThread = () => {
    made++;
    return {
      run: () => new Promise<SchemaVerdict>((resolve) => void running.push(resolve)),
      async stop() {},
    };
  };
  const threads = createSchemaThreads({ clock: createManualClock(), log: silent, cores, newThread });
  const send = (orgId: string, signal?: AbortSignal) => threads.within(orgId, signal, (run) => run(step));
  const settled = () => new Promise((resolve) => void setImmediate(resolve));
  return { threads, running, send, settled, made: () => made };
}

it('leaves a thread to other orgs, however much one org sends', async () => {
  const { running, send, settled, made } = threadsOf(2);
  const greedy = Array.from({ length: 20 }, () => send('greedy'));
  await settled();
  expect([running.length, made()]).toEqual([1, 1]);
  const other = send('other');
  await settled();
  expect([running.length, made()]).toEqual([2, 2]);
  running[1]!({ kind: 'fine' });
  expect(await other).toEqual({ kind: 'fine' });
  running[0]!({ kind: 'too much' });
  expect(await greedy[0]).toEqual({ kind: 'too much' });
  await settled();
  // One idle thread is enough for the next step.
  expect([running.length, made()]).toEqual([3, 2]);
});

it.each([
  [1, 2],
  [4, 3],
  [64, 4],
])('has, with %i cores, %i threads', async (cores, count) => {
  const { send, settled, made } = threadsOf(cores);
  for (let n = 0; n < 10; n++) void send(`org_${n}`);
  await settled();
  expect(made()).toBe(count);
});

it('ends the wait of a request that has gone', async () => {
  const { send, settled, running } = threadsOf(2);
  void send('a');
  const client = new AbortController();
  const waiting = send('a', client.signal);
  await settled();
  client.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  expect(running).toHaveLength(1);
});

it('rejects more than a thousand waiting requests of an org', async () => {
  const { send } = threadsOf(2);
  for (let n = 0; n < 1_001; n++) void send('a');
  await expect(send('a')).rejects.toMatchObject({ code: 'engine_overloaded', retryAfter: 5 });
});
