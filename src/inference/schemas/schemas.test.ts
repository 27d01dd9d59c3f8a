import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import { transient } from '../../core/errors.ts';
import type { SchemaJob, SchemaVerdict } from './job.ts';
import { createSchemas } from './schemas.ts';

/** A gate whose jobs end as a test says. */
function gateOf(verdictOf: (source: string, text: string | null) => SchemaVerdict | null) {
  const clock = createManualClock();
  const jobs: SchemaJob[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  let waiting = 0;
  const runner = {
    waiting: (orgId: string) => (orgId === 'org_full' ? waiting : 0),
    async run(job: SchemaJob, signal?: AbortSignal) {
      jobs.push(job);
      signals.push(signal);
      const verdicts = job.steps.map(({ source, text }) => verdictOf(source, text));
      return verdicts.filter((verdict) => verdict !== null);
    },
    async stop() {},
  };
  const gate = createSchemas({ clock, log: silent, runner });
  const admit = (orgId: string, ...schemas: unknown[]) =>
    gate.admit(
      schemas.map((schema, at) => ({ schema, where: `tools[${at}]` })),
      orgId,
    );
  return { admit, gate, jobs, signals, clock, fill: (count: number) => (waiting = count) };
}

const fine: SchemaVerdict = { kind: 'fine' };
const tooMuch: SchemaVerdict = { kind: 'too much' };
const refused: SchemaVerdict = {
  kind: 'refused',
  code: 'unsupported_keyword',
  at: '#/$async',
  message: 'this keyword is not supported',
};

describe('createSchemas', () => {
  it('tries the schemas of a request in one job, and each of them once', async () => {
    const { admit, jobs } = gateOf(() => fine);
    const tools = Array.from({ length: 128 }, (_, n) => ({ maxLength: n % 100 }));
    expect(await admit('org_1', ...tools)).toHaveLength(128);
    expect(jobs.map(({ steps }) => steps.length)).toEqual([100]);
    expect(new Set(jobs[0]!.steps.map(({ number }) => number)).size).toBe(100);
    await admit('org_2', ...tools, {});
    expect(jobs.map(({ steps }) => steps.length)).toEqual([100, 1]);
  });

  it('remembers a rejection, and names the current place of the schema', async () => {
    const { admit, jobs } = gateOf((source) => (source === '{}' ? fine : refused));
    await expect(admit('org_1', { $async: true })).rejects.toMatchObject({ param: 'tools[0]#/$async' });
    await expect(admit('org_2', {}, { $async: true })).rejects.toMatchObject({
      code: 'unsupported_keyword',
      param: 'tools[1]#/$async',
      message: 'tools[1]#/$async: this keyword is not supported',
    });
    expect(jobs.map(({ steps }) => steps.map(({ source }) => source))).toEqual([['{"$async":true}'], ['{}']]);
  });

  it('rejects a schema that is too large without a thread', async () => {
    const { admit, jobs } = gateOf(() => fine);
    const large = { description: 'x'.repeat(262_144) };
    await expect(admit('org_1', {}, large)).rejects.toMatchObject({
      code: 'schema_too_complex',
      param: 'tools[1]',
    });
    expect(jobs).toEqual([]);
  });

  it('rejects a schema that took too long for a while, longer each time', async () => {
    const { admit, jobs, clock } = gateOf(() => tooMuch);
    const refusal = { code: 'schema_too_complex', blame: transient, param: 'tools[0]' };
    const storm = async (ms: number) => {
      await expect(admit('org_1', {})).rejects.toMatchObject(refusal);
      await clock.advance(ms);
      return jobs.length;
    };
    expect([await storm(9_999), await storm(1)]).toEqual([1, 1]);
    expect([await storm(19_999), await storm(1), await storm(0)]).toEqual([2, 2, 3]);
    for (let n = 0; n < 10; n++) await storm(600_000);
    expect([await storm(599_999), await storm(0)]).toEqual([13, 13]);
  });

  it('retries at once a schema that only waited behind one that took too long', async () => {
    let isSlow = true;
    const { admit, jobs } = gateOf((source) => {
      if (source === 'true') return fine;
      if (source === '{}') return isSlow ? tooMuch : fine;
      return isSlow ? null : fine;
    });
    const tools = [true, {}, { title: 'behind' }];
    await expect(admit('org_1', ...tools)).rejects.toMatchObject({ param: 'tools[1]' });
    isSlow = false;
    await admit('org_1', tools[0], tools[2]);
    expect(jobs[1]?.steps.map(({ source }) => source)).toEqual(['{"title":"behind"}']);
  });

  it('gives each org a trial of its own, shared by the requests of the org', async () => {
    const { admit, jobs } = gateOf(() => fine);
    await Promise.all([admit('org_1', {}), admit('org_1', {}), admit('org_2', {})]);
    expect(jobs.map(({ orgId }) => orgId)).toEqual(['org_1', 'org_2']);
    expect(jobs[0]!.steps[0]!.number).toBe(jobs[1]!.steps[0]!.number);
  });

  it('cancels a trial once all its requests have left, and repeats it for later ones', async () => {
    const asked: AbortSignal[] = [];
    const runner = {
      waiting: () => 0,
      run(_job: SchemaJob, signal = new AbortController().signal) {
        asked.push(signal);
        const { promise, reject } = Promise.withResolvers<SchemaVerdict[]>();
        signal.addEventListener('abort', () => reject(signal.reason));
        return promise;
      },
      async stop() {},
    };
    const gate = createSchemas({ clock: createManualClock(), log: silent, runner });
    const come = () => {
      const client = new AbortController();
      return { client, admitted: gate.admit([{ schema: {}, where: 'x' }], 'org_1', client.signal) };
    };
    const [first, second] = [come(), come()];
    first.client.abort(new Error('gone'));
    await expect(first.admitted).rejects.toThrow('gone');
    expect(asked.map(({ aborted }) => aborted)).toEqual([false]);
    second.client.abort(new Error('gone too'));
    void come();
    expect(asked.map(({ aborted }) => aborted)).toEqual([true, false]);
    await expect(second.admitted).rejects.toThrow('gone too');
  });

  it('holds no answer against a schema for a request that has gone', async () => {
    const { gate, signals } = gateOf(() => fine);
    const { signal } = new AbortController();
    const [admitted] = await gate.admit([{ schema: {}, where: 'x' }], 'org_1', signal);
    await admitted!.fault('{}');
    expect(signals.at(-1)).toBe(signal);
  });

  it('refuses more requests of an org whose own queue is long', async () => {
    const { admit, fill } = gateOf(() => fine);
    const [known] = await admit('org_full', { title: 'known' });
    fill(1_000);
    await expect(admit('org_full', {})).rejects.toMatchObject({ code: 'engine_overloaded', retryAfter: 5 });
    await admit('org_1', {});
    // A known schema needs no trial, and a pending answer is checked.
    await admit('org_full', { title: 'known' });
    expect(await known!.fault('{}')).toBeNull();
  });

  it('condemns a schema whose answer could not be checked', async () => {
    const { admit } = gateOf((_source, text) => (text === null ? fine : tooMuch));
    const [admitted] = await admit('org_1', {});
    await expect(admitted!.fault('1')).rejects.toMatchObject({
      code: 'schema_too_complex',
      param: 'tools[0]',
    });
    await expect(admit('org_2', {})).rejects.toMatchObject({ code: 'schema_too_complex' });
  });
});
