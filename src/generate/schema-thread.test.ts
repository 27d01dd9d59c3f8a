import { afterEach, describe, expect, it } from 'vitest';
import { silent } from '../base/log.ts';
import { systemClock } from '../base/system.ts';
import { SchemaThread } from './schema-thread.ts';

const threads: SchemaThread[] = [];
afterEach(() => Promise.all(threads.splice(0).map((each) => each.stop())));

function thread(limitMs: number): SchemaThread {
  const made = new SchemaThread({ limitMs, clock: systemClock, log: silent });
  threads.push(made);
  return made;
}

const numbers = JSON.stringify({ type: 'number' });
const distinct = JSON.stringify({ uniqueItems: true });
const endless = JSON.stringify(Array.from({ length: 50_000 }, (_, n) => ({ n })));

describe('SchemaThread', () => {
  it('tries schemas and holds texts against them', async () => {
    const own = thread(5_000);
    expect(await own.run({ schema: numbers, text: null })).toEqual({ kind: 'fine' });
    expect(await own.run({ schema: numbers, text: '7' })).toEqual({ kind: 'fine' });
    expect(await own.run({ schema: numbers, text: '"7"' })).toMatchObject({ kind: 'fault' });
    expect(await own.run({ schema: numbers, text: '7 or 8' })).toEqual({
      kind: 'fault',
      fault: 'it is not JSON',
    });
    expect(await own.run({ schema: '{"type":"strnig"}', text: null })).toMatchObject({ kind: 'fault' });
  });

  it('gives up what takes too long, and does everything else', async () => {
    const own = thread(1_000);
    const jobs = Array.from({ length: 20 }, (_, n) => own.run({ schema: numbers, text: `${n}` }));
    const stuck = own.run({ schema: distinct, text: endless });
    const later = Array.from({ length: 20 }, (_, n) => own.run({ schema: numbers, text: `${n}` }));
    expect(own.waiting).toBe(41);
    expect(await stuck).toEqual({ kind: 'too much' });
    for (const verdict of await Promise.all([...jobs, ...later])) expect(verdict).toEqual({ kind: 'fine' });
    expect(own.waiting).toBe(0);
  });

  it('gives up what takes all of the stack', async () => {
    const own = thread(5_000);
    const schema = JSON.stringify({ $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } });
    expect(await own.run({ schema, text: null })).toEqual({ kind: 'too much' });
    expect(await own.run({ schema: numbers, text: '7' })).toEqual({ kind: 'fine' });
  });

  it('gives unfinished jobs back when it is stopped, and takes none afterwards', async () => {
    const own = thread(5_000);
    const unfinished = own.run({ schema: numbers, text: null });
    const outcome = expect(unfinished).rejects.toMatchObject({ code: 'shutting_down' });
    await Promise.all([own.stop(), own.stop()]);
    await outcome;
    await expect(own.run({ schema: numbers, text: null })).rejects.toMatchObject({ code: 'shutting_down' });
  });
});
