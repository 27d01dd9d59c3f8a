import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { silent } from '../../base/log.ts';
import { systemClock } from '../../base/system.ts';
import { type SchemaStep, SchemaThread } from './thread.ts';

const threads: SchemaThread[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(threads.splice(0).map((each) => each.stop()));
});

function thread(clock = systemClock): SchemaThread {
  const made = new SchemaThread(clock, silent);
  threads.push(made);
  return made;
}

const trial = (schema: unknown, limitMs = 5_000): SchemaStep => ({
  source: JSON.stringify(schema),
  text: null,
  limitMs,
});
const check = (schema: unknown, text: string, limitMs = 5_000): SchemaStep => ({
  ...trial(schema, limitMs),
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
    await thread().run(trial(numbers));
    expect(modestThreads()).toBe(before + 1);
  });

  it('tries schemas, and checks texts against them', async () => {
    const own = thread();
    const outcomes: [SchemaStep, object][] = [
      [trial(numbers), fine],
      [check(numbers, '7'), fine],
      [check(numbers, '"7"'), { kind: 'missed', how: 'the value must be number' }],
      [check(numbers, '7 or 8'), { kind: 'missed', how: 'it is not JSON' }],
      [trial({ type: 'strnig' }), { kind: 'refused', at: '#/type', code: 'validation_error' }],
      [check({ pattern: '^(?!a)' }, '"a"'), { kind: 'missed', how: 'the value must match pattern "^(?!a)"' }],
      [trial({ pattern: '^(?!b)(a+)+b$' }, 300), tooMuch],
      [check({ items: { $ref: '#' } }, `${'['.repeat(100_000)}${']'.repeat(100_000)}`), tooMuch],
      [check(numbers, '7'), fine],
    ];
    for (const [step, verdict] of outcomes) expect(await own.run(step)).toMatchObject(verdict);
  });

  it('ends with a step that takes too long, and a new thread runs the next one', async () => {
    const own = thread();
    expect(await own.run(trial(numbers))).toEqual(fine);
    expect(await own.run(check(slow, endless, 300))).toEqual(tooMuch);
    expect(await own.run(check(numbers, '7'))).toEqual(fine);
  });

  it('allows a step its processor time, however slow the machine is', async () => {
    // A clock so slow that the whole time limit passes at once.
    const own = thread({ ...systemClock, after: (_ms, fn) => systemClock.after(0, fn) });
    const text = JSON.stringify(Array.from({ length: 100_000 }, (_, n) => n));
    for (let n = 0; n < 5; n++) expect(await own.run(check({ items: numbers }, text, 60_000))).toEqual(fine);
  });

  it('stops a step that gets no processor time', async () => {
    // An hour passes in each millisecond, of which the thread is given nothing.
    const own = thread({
      ...systemClock,
      monotonic: () => systemClock.monotonic() * 3_600_000,
      after: (_ms, fn) => systemClock.after(0, fn),
    });
    expect(await own.run(check(slow, endless, 60_000))).toEqual(tooMuch);
  });

  it('uses the wall clock if Node cannot report processor time', async () => {
    const untold = vi.spyOn(Worker.prototype, 'cpuUsage').mockImplementation(() => {
      throw new TypeError('cpuUsage is not a function');
    });
    expect(await thread().run(check(slow, endless, 300))).toEqual(tooMuch);
    expect(untold).toHaveBeenCalled();
  });

  it('gives up a step that runs out of memory', async () => {
    const items = { items: { items: {} }, uniqueItems: true };
    const text = `[${Array.from({ length: 1_500_000 }, (_, n) => `[${n},"${n}"]`).join(',')}]`;
    const own = thread();
    expect(await own.run(check(items, text, 60_000))).toEqual(tooMuch);
    expect(await own.run(trial(numbers))).toEqual(fine);
  });

  it('rejects its step, and all later ones, once it is stopped', async () => {
    const own = thread();
    await own.run(trial(numbers));
    const outcome = expect(own.run(check(slow, endless))).rejects.toMatchObject({ code: 'shutting_down' });
    await Promise.all([own.stop(), own.stop(), outcome]);
    await expect(own.run(trial(numbers))).rejects.toMatchObject({ code: 'shutting_down' });
  });

  it('rejects a step during its start if it is stopped', async () => {
    const own = thread();
    const outcome = expect(own.run(trial(numbers))).rejects.toMatchObject({ code: 'shutting_down' });
    await Promise.all([own.stop(), outcome]);
  });
});
