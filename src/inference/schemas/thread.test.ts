import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { silent } from '../../base/log.ts';
import { systemClock } from '../../base/system.ts';
import type { SchemaStep, SchemaVerdict } from './job.ts';
import { SchemaThread, type SchemaThreadDeps } from './thread.ts';

const threads: SchemaThread[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(threads.splice(0).map((each) => each.stop()));
});

function thread(parts: Partial<SchemaThreadDeps> = {}): SchemaThread {
  const made = new SchemaThread({ clock: systemClock, log: silent, onIdle: () => {}, ...parts });
  threads.push(made);
  return made;
}

interface GivenJob {
  steps: SchemaStep[];
  limitMs?: number;
}

/** The verdicts of each job, all given at once. */
function take(own: SchemaThread, ...jobs: GivenJob[]): Promise<SchemaVerdict[]>[] {
  const given = jobs.map(({ steps, limitMs = 5_000 }) => {
    const { promise, resolve, reject } = Promise.withResolvers<SchemaVerdict[]>();
    return { promise, work: { job: { orgId: 'org_1', steps, limitMs }, verdicts: [], resolve, reject } };
  });
  own.take(given.map(({ work }) => work));
  return given.map(({ promise }) => promise);
}

const trial = (number: number, schema: unknown): SchemaStep => ({
  number,
  source: JSON.stringify(schema),
  text: null,
});
const check = (number: number, schema: unknown, text: string): SchemaStep => ({
  ...trial(number, schema),
  text,
});

const numbers = { type: 'number' };
/** Each of its patterns is tried with each name: minutes. */
const patterns = Array.from({ length: 300 }, (_, n) => [`^p${n}[a-z]*$`, {}]);
const slow = { patternProperties: Object.fromEntries(patterns) as object };
const names = Array.from({ length: 200_000 }, (_, n) => [`p${n}`, n]);
const endless = JSON.stringify(Object.fromEntries(names));

const fine = { kind: 'fine' };
const tooMuch = { kind: 'too much' };

/** Threads of this process that give way to others. */
function modestThreads(): number {
  const nice = (id: string) =>
    Number(readFileSync(`/proc/self/task/${id}/stat`, 'latin1').split(') ')[1]!.split(' ')[16]);
  return readdirSync('/proc/self/task').filter((id) => nice(id) === 10).length;
}

describe('SchemaThread', () => {
  it.runIf(process.platform === 'linux')('gives way to whoever answers requests', async () => {
    const before = modestThreads();
    await take(thread(), { steps: [trial(1, numbers)] })[0];
    expect(modestThreads()).toBe(before + 1);
  });

  it('tries schemas and holds texts against them', async () => {
    const steps = [
      trial(1, numbers),
      check(1, numbers, '7'),
      check(1, numbers, '"7"'),
      check(1, numbers, '7 or 8'),
      trial(2, { type: 'strnig' }),
      trial(3, { items: { $ref: 'http://x' } }),
    ];
    expect(await take(thread(), { steps })[0]).toEqual([
      fine,
      fine,
      { kind: 'missed', how: 'the value must be number' },
      { kind: 'missed', how: 'it is not JSON' },
      { kind: 'refused', code: 'validation_error', at: '', message: expect.stringMatching(/type/) },
      {
        kind: 'refused',
        code: 'validation_error',
        at: '#/items/$ref',
        message: expect.stringMatching(/references/),
      },
    ]);
  });

  it('sends the source of a schema once', async () => {
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    const own = thread();
    await take(own, { steps: [trial(1, numbers)] })[0];
    expect(own.knows(1)).toBe(true);
    const other = { type: 'string' };
    expect(await take(own, { steps: [check(1, other, '7')] })[0]).toEqual([fine]);
    expect(posted.mock.lastCall).toEqual([{ steps: [{ number: 1, text: '7' }], forget: [] }]);
    const many = Array.from({ length: 300 }, (_, n) => trial(n + 2, numbers));
    await take(own, { steps: many })[0];
    await take(own, { steps: [check(301, numbers, '7')] })[0];
    expect([own.knows(1), own.knows(301)]).toEqual([false, true]);
    expect(await take(own, { steps: [check(1, other, '7')] })[0]).toMatchObject([{ kind: 'missed' }]);
  });

  it('stops a job that takes too long, and runs the others', async () => {
    const idle = Promise.withResolvers<void>();
    const own = thread({ onIdle: idle.resolve });
    const steps = [trial(1, numbers), check(2, slow, endless), trial(3, numbers)];
    const [stuck, later] = take(own, { steps, limitMs: 1_000 }, { steps: [check(1, numbers, '7')] });
    // The result behind an abandoned step is unknown.
    expect(await stuck).toEqual([fine, tooMuch]);
    expect(own.isIdle).toBe(false);
    expect(await later).toEqual([fine]);
    await idle.promise;
    expect(own.isIdle).toBe(true);
  });

  it('gives nothing up because the machine is slow', async () => {
    // A clock so slow that the whole time limit passes at once.
    const clock = { ...systemClock, after: (_ms: number, fn: () => void) => systemClock.after(0, fn) };
    const text = JSON.stringify(Array.from({ length: 100_000 }, (_, n) => n));
    const steps = Array.from({ length: 20 }, () => check(1, { items: numbers }, text));
    expect(await take(thread({ clock }), { steps, limitMs: 60_000 })[0]).toEqual(steps.map(() => fine));
  });

  it('stops a job that gets no processor time', async () => {
    // An hour passes in each millisecond, of which the thread is given nothing.
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() * 3_600_000 };
    const steps = [check(2, slow, endless)];
    const own = thread({ clock: { ...clock, after: (_ms, fn) => systemClock.after(0, fn) } });
    expect(await take(own, { steps, limitMs: 60_000 })[0]).toEqual([tooMuch]);
  });

  it('uses the wall clock if Node cannot report processor time', async () => {
    const untold = vi.spyOn(Worker.prototype, 'cpuUsage').mockImplementation(() => {
      throw new TypeError('cpuUsage is not a function');
    });
    const own = thread();
    const given = take(
      own,
      { steps: [check(2, slow, endless)], limitMs: 300 },
      { steps: [trial(1, numbers)] },
    );
    expect(await Promise.all(given)).toEqual([[tooMuch], [fine]]);
    expect(untold).toHaveBeenCalled();
  });

  it('watches over each job', async () => {
    const slowOne = { steps: [check(2, slow, endless)], limitMs: 500 };
    const [first, stuck, later] = take(thread(), { steps: [trial(1, numbers)] }, slowOne, {
      steps: [trial(3, numbers)],
    });
    expect([await first, await stuck, await later]).toEqual([[fine], [tooMuch], [fine]]);
  });

  it('is no thread for more work before the next one is ready', async () => {
    let idle = Promise.withResolvers<void>();
    const own = thread({ onIdle: () => idle.resolve() });
    await take(own, { steps: [trial(1, numbers)] })[0];
    idle = Promise.withResolvers();
    expect(await take(own, { steps: [check(2, slow, endless)], limitMs: 500 })[0]).toEqual([tooMuch]);
    await idle.promise;
    expect([own.isIdle, own.knows(1)]).toEqual([false, false]);
    idle = Promise.withResolvers();
    await idle.promise;
    expect(own.isIdle).toBe(true);
  });

  it('stops a job that overflows the stack', async () => {
    const own = thread();
    const schema = { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } };
    expect(await take(own, { steps: [check(1, schema, '1')] })[0]).toEqual([tooMuch]);
    expect(await take(own, { steps: [check(2, numbers, '7')] })[0]).toEqual([fine]);
  });

  it('gives unfinished jobs back when it is stopped', async () => {
    const own = thread();
    const outcomes = take(own, { steps: [trial(1, numbers)] }, { steps: [trial(2, numbers)] });
    const rejected = outcomes.map((each) => expect(each).rejects.toMatchObject({ code: 'shutting_down' }));
    await Promise.all([own.stop(), own.stop(), ...rejected]);
  });
});
