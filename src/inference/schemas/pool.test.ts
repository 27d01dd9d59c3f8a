import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import { createSchemaPool } from './pool.ts';
import type { SchemaThreadDeps, SchemaWork } from './thread.ts';

interface FakeThread {
  isIdle: boolean;
  work: SchemaWork[];
  seen: Set<number>;
  knows(number: number): boolean;
  take(work: SchemaWork[]): void;
  stop(): Promise<void>;
  /** Ends its work after `ms`, and resolves its jobs. */
  finish(ms: number): Promise<string[]>;
}

function poolOf(threads: number) {
  const clock = createManualClock();
  const made: FakeThread[] = [];
  const newThread = ({ onIdle }: SchemaThreadDeps): FakeThread => {
    const thread: FakeThread = {
      isIdle: true,
      work: [],
      seen: new Set(),
      knows: (number) => thread.seen.has(number),
      take(work) {
        thread.work = work;
        thread.isIdle = false;
        for (const { number } of work.flatMap(({ job }) => job.steps)) thread.seen.add(number);
      },
      stop: async () => {},
      async finish(ms) {
        await clock.advance(ms);
        const done = thread.work.splice(0);
        for (const work of done) work.resolve([{ kind: 'fine' }]);
        thread.isIdle = true;
        onIdle();
        return done.map(({ job }) => job.orgId);
      },
    };
    made.push(thread);
    return thread;
  };
  const pool = createSchemaPool({ clock, log: silent, threads, newThread });
  const send = (orgId: string, number = 1, signal?: AbortSignal) =>
    pool.run({ orgId, steps: [{ number, source: '{}', text: null }], limitMs: 1_000 }, signal);
  return { pool, made, send };
}

const orgsAt = (thread: FakeThread | undefined) => thread?.work.map(({ job }) => job.orgId);

describe('createSchemaPool', () => {
  it('leaves a thread to the others, however much one org sends', async () => {
    const { pool, made, send } = poolOf(2);
    const many = Array.from({ length: 70 }, () => send('greedy'));
    expect(made.map(orgsAt)).toEqual([['greedy']]);
    expect([pool.waiting('greedy'), pool.waiting('other')]).toEqual([69, 0]);
    const small = send('other');
    expect(made.map(orgsAt)).toEqual([['greedy'], ['other']]);
    await made[1]!.finish(1);
    expect(await small).toEqual([{ kind: 'fine' }]);
    // Nor does it get the second thread once that is free again.
    expect(orgsAt(made[1])).toEqual([]);
    const outcome = Promise.allSettled(many.slice(1));
    await pool.stop();
    expect((await outcome).map(({ status }) => status)).not.toContain('fulfilled');
  });

  it('gives orgs the same time, not the same number of jobs', async () => {
    const { made, send } = poolOf(2);
    void send('elsewhere');
    for (let n = 0; n < 40; n++) {
      void send('slow');
      void send('quick');
    }
    const first = made[1]!;
    const spent = { slow: 0, quick: 0 };
    while (spent.slow < 2_000) {
      const [orgId] = orgsAt(first) as ('slow' | 'quick')[];
      const ms = orgId === 'slow' ? 500 : 100;
      spent[orgId!] += ms;
      await first.finish(ms);
    }
    expect(spent.quick).toBeGreaterThanOrEqual(1_500);
  });

  it('gives no credit for idling', async () => {
    const { made, send } = poolOf(2);
    void send('elsewhere');
    for (let n = 0; n < 20; n++) void send('busy');
    for (let n = 0; n < 10; n++) await made[1]!.finish(100);
    for (let n = 0; n < 20; n++) void send('late');
    const order: string[] = [];
    for (let n = 0; n < 6; n++) order.push(...(await made[1]!.finish(100)));
    expect(order.filter((orgId) => orgId === 'late').length).toBeLessThanOrEqual(4);
    expect(order).toContain('busy');
  });

  it('sends short jobs together, and long ones alone', async () => {
    const { made, send } = poolOf(2);
    for (let n = 0; n < 100; n++) void send('one');
    const counts: number[] = [];
    for (let n = 0; n < 5; n++) counts.push((await made[0]!.finish(1)).length);
    expect(counts).toEqual([1, 2, 4, 8, 8]);
    expect((await made[0]!.finish(900)).length).toBe(8);
    expect(orgsAt(made[0])).toHaveLength(1);
  });

  it('prefers the thread that knows the schema', async () => {
    const { made, send } = poolOf(2);
    void send('a', 1);
    void send('b', 2);
    await made[0]!.finish(1);
    await made[1]!.finish(1);
    void send('c', 2);
    expect(made.map(orgsAt)).toEqual([[], ['c']]);
  });

  it('cancels jobs without a waiting request, and finishes those that began', async () => {
    const { pool, made, send } = poolOf(2);
    const gone = new AbortController();
    const begun = send('a', 1, gone.signal);
    const waiting = send('a', 2, gone.signal);
    const other = send('a', 3);
    expect(pool.waiting('a')).toBe(2);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(send('a', 4, gone.signal)).rejects.toThrow('gone');
    expect(pool.waiting('a')).toBe(1);
    await made[0]!.finish(1);
    expect(made[0]!.work.map(({ job }) => job.steps[0]!.number)).toEqual([3]);
    await made[0]!.finish(1);
    expect([await begun, await other]).toEqual([[{ kind: 'fine' }], [{ kind: 'fine' }]]);
  });

  it('takes nothing once it is stopped', async () => {
    const { pool, send } = poolOf(2);
    await pool.stop();
    await expect(send('a')).rejects.toMatchObject({ code: 'shutting_down' });
  });
});
