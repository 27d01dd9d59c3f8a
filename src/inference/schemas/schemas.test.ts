import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import { transient } from '../../core/errors.ts';
import type { SchemaVerdict } from './checker.ts';
import { createSchemas } from './schemas.ts';
import type { SchemaStep } from './thread.ts';

/** A gate whose threads answer as a test says. */
function gateOf(verdictOf: (step: SchemaStep) => SchemaVerdict | Promise<SchemaVerdict>) {
  const clock = createManualClock();
  const steps: SchemaStep[] = [];
  const entries: { orgId: string; signal: AbortSignal | undefined }[] = [];
  const gate = createSchemas({
    clock,
    log: silent,
    threads: {
      within(orgId, signal, work) {
        entries.push({ orgId, signal });
        return work(async (step) => {
          steps.push(step);
          return verdictOf(step);
        });
      },
      async stop() {},
    },
  });
  const admit = (orgId: string, ...schemas: unknown[]) =>
    gate.admit(
      schemas.map((schema, at) => ({ schema, where: `tools[${at}]` })),
      orgId,
    );
  return { admit, gate, steps, entries, clock };
}

const fine: SchemaVerdict = { kind: 'fine' };
const tooMuch: SchemaVerdict = { kind: 'too much' };
const refused: SchemaVerdict = { kind: 'refused', code: 'validation_error', at: '#/pattern', message: 'bad' };

/** Schemas that need a thread. */
const lookAhead = { pattern: '^(?!a)b' };
const heavy = (n: number) => ({ ...lookAhead, title: `${n}` });

describe('createSchemas', () => {
  it('compiles and checks ordinary schemas without a thread', async () => {
    const { admit, entries } = gateOf(() => tooMuch);
    const [admitted] = await admit('org_1', { type: 'object', properties: { a: { pattern: '^a+$' } } });
    expect(await admitted!.fault('{"a":"aa"}')).toBeNull();
    expect(await admitted!.fault('{"a":"ab"}')).toBe('/a must match pattern "^a+$"');
    expect(await admitted!.fault('{')).toBe('it is not JSON');
    expect(entries).toEqual([]);
  });

  it('names the place of a schema in the request, and the place in the schema', async () => {
    const { admit } = gateOf(() => fine);
    for (const orgId of ['org_1', 'org_2'])
      await expect(admit(orgId, {}, { items: { minLength: -1 } })).rejects.toMatchObject({
        code: 'validation_error',
        param: 'tools[1]#/items/minLength',
        message: 'tools[1]#/items/minLength: expected an integer that is not negative',
      });
  });

  it('rejects a number beyond the doubles', async () => {
    const { admit } = gateOf(() => fine);
    const schema: unknown = JSON.parse('{"minimum":1e400}');
    await expect(admit('org_1', schema)).rejects.toMatchObject({ param: 'tools[0]#/minimum' });
  });

  it('compiles a long schema in a thread', async () => {
    const { admit, steps } = gateOf(() => refused);
    const long = { items: { minLength: -1 }, description: 'x'.repeat(20_000) };
    await expect(admit('org_1', long)).rejects.toMatchObject({ param: 'tools[0]#/pattern' });
    expect(steps).toEqual([{ source: JSON.stringify(long), text: null, limitMs: 800 }]);
  });

  it('rejects an invalid pattern without a thread', async () => {
    const { admit, steps } = gateOf(() => fine);
    await expect(admit('org_1', { pattern: '(' })).rejects.toMatchObject({ param: 'tools[0]#/pattern' });
    expect(steps).toEqual([]);
  });

  it('tries the schemas of a request that need a thread, each of them once', async () => {
    const { admit, entries, steps } = gateOf(() => fine);
    const tools = Array.from({ length: 20 }, (_, n) => heavy(n % 10));
    expect(await admit('org_1', {}, ...tools)).toHaveLength(21);
    expect([entries.length, steps.length]).toEqual([10, 10]);
    await admit('org_2', ...tools, heavy(10));
    expect([entries.length, steps.length]).toEqual([11, 11]);
  });

  it('tries a schema once for all requests that come meanwhile', async () => {
    const verdict = Promise.withResolvers<SchemaVerdict>();
    const { admit, steps } = gateOf(() => verdict.promise);
    const first = admit('org_1', lookAhead);
    verdict.resolve(fine);
    await first;
    await Promise.all([admit('org_1', lookAhead), admit('org_2', lookAhead)]);
    expect(steps).toHaveLength(1);
  });

  it('remembers the rejection of a thread', async () => {
    const { admit, steps } = gateOf(() => refused);
    for (const orgId of ['org_1', 'org_2'])
      await expect(admit(orgId, lookAhead)).rejects.toMatchObject({ param: 'tools[0]#/pattern' });
    expect(steps).toHaveLength(1);
  });

  it('rejects a schema that is too large', async () => {
    const { admit } = gateOf(() => fine);
    const refusal = { code: 'schema_too_complex', param: 'tools[1]' };
    await expect(admit('org_1', {}, { description: 'x'.repeat(262_144) })).rejects.toMatchObject(refusal);
  });

  it('rejects a schema that took too long for a minute', async () => {
    const { admit, steps, clock } = gateOf(() => tooMuch);
    const refusal = { code: 'schema_too_complex', blame: transient, param: 'tools[0]' };
    const attempt = async (ms: number) => {
      await expect(admit('org_1', lookAhead)).rejects.toMatchObject(refusal);
      await clock.advance(ms);
      return steps.length;
    };
    expect([await attempt(59_999), await attempt(1), await attempt(0)]).toEqual([1, 1, 2]);
  });

  it('tries no schema behind one that took too long', async () => {
    const { admit, steps } = gateOf(({ source }) => (source.includes('"1"') ? tooMuch : fine));
    await expect(admit('org_1', heavy(0), heavy(1), heavy(2))).rejects.toMatchObject({ param: 'tools[1]' });
    expect(steps).toHaveLength(2);
    await admit('org_1', heavy(0), heavy(2));
    expect(steps.map(({ source }) => source)).toEqual([0, 1, 2].map((n) => JSON.stringify(heavy(n))));
  });

  it('checks a long answer in a thread, and further short ones itself', async () => {
    const { admit, steps, entries, gate } = gateOf(() => fine);
    const { signal } = new AbortController();
    const [admitted] = await gate.admit([{ schema: { type: 'string' }, where: 'x' }], 'org_1', signal);
    const long = JSON.stringify('x'.repeat(100_000));
    expect(await admitted!.fault(long)).toBeNull();
    expect(steps).toMatchObject([{ source: '{"type":"string"}', text: long, limitMs: 2_000 }]);
    expect(entries).toEqual([{ orgId: 'org_1', signal }]);
    expect(await admitted!.fault('7')).toBe('the value must be string');
    await admit('org_1', { type: 'string' });
    expect(steps).toHaveLength(1);
  });

  it.each([
    ['schemas inside each other', { items: { $ref: '#' } }, `${'['.repeat(300)}${']'.repeat(300)}`],
    ['values inside each other', { uniqueItems: true }, `${'['.repeat(15_000)}${']'.repeat(15_000)}`],
  ])('checks too many %s in a thread', async (_, schema, text) => {
    const { admit, steps } = gateOf(() => fine);
    const [admitted] = await admit('org_1', schema);
    // Many side by side are not too many.
    expect(await admitted!.fault(JSON.stringify(Array.from({ length: 300 }, (_each, n) => [n])))).toBeNull();
    expect(steps).toEqual([]);
    expect(await admitted!.fault(text)).toBeNull();
    expect(steps).toHaveLength(1);
  });

  it('checks all answers in a thread once an answer took too many steps', async () => {
    const { admit, steps } = gateOf(({ text }) => (text === '7' ? { kind: 'missed', how: 'no' } : fine));
    const all = {
      anyOf: Array.from({ length: 100 }, (_, n) => ({ items: { type: 'number', not: { const: n } } })),
    };
    const [admitted] = await admit('org_1', { not: all });
    const text = JSON.stringify(Array.from({ length: 1_000 }, () => 100));
    expect(await admitted!.fault('[0, 1]')).toBe('the value must NOT be valid');
    const slow = {
      anyOf: Array.from({ length: 100 }, () => ({
        items: { type: 'number' },
        maxItems: 1_000,
        contains: { const: 0 },
      })),
    };
    const [other] = await admit('org_1', slow);
    expect(await other!.fault(text)).toBeNull();
    expect(await other!.fault('7')).toBe('no');
    // A new request needs no trial.
    await admit('org_1', slow);
    expect(steps.map((step) => step.text)).toEqual([text, '7']);
  });

  it('condemns a schema whose answer could not be checked', async () => {
    const { admit } = gateOf(({ text }) => (text === null ? fine : tooMuch));
    const [admitted] = await admit('org_1', lookAhead);
    await expect(admitted!.fault('1')).rejects.toMatchObject({
      code: 'schema_too_complex',
      param: 'tools[0]',
    });
    await expect(admit('org_2', lookAhead)).rejects.toMatchObject({ code: 'schema_too_complex' });
  });

  it('forgets the schemas that were used least recently', async () => {
    const { admit, steps } = gateOf(() => fine);
    for (const n of Array.from({ length: 255 }, (_, at) => at)) await admit('org_1', heavy(n));
    await admit('org_1', heavy(0));
    await admit('org_1', heavy(255), heavy(256));
    expect(steps).toHaveLength(257);
    await admit('org_1', heavy(0), heavy(256));
    expect(steps).toHaveLength(257);
    await admit('org_1', heavy(1));
    expect(steps).toHaveLength(258);
  });

  it('compiles nothing for a request that has gone', async () => {
    const { gate, steps } = gateOf(() => fine);
    const signal = AbortSignal.abort(new Error('gone'));
    await expect(gate.admit([{ schema: lookAhead, where: 'x' }], 'org_1', signal)).rejects.toThrow('gone');
    expect(steps).toEqual([]);
  });
});
