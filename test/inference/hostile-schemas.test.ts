import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorBody } from '../support/api.ts';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { ApiError } from '../../src/core/errors.ts';
import { createSchemas } from '../../src/inference/schemas/schemas.ts';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine, jsonl } from '../support/batch-lines.ts';
import { hostileSchemas } from './hostile-schemas.ts';

// C14, C15, B41: hostile schemas sent over the API. The engine is scripted, the schema checks are real.

let running: RunningApp;
/** Maximum processor time of the main thread for one request, in ms, relative to the speed of this machine. */
let maxMs: number;

beforeAll(async () => {
  running = await startApp();
  // Reading and writing the request are unavoidable. Work quadratic in the schema size takes a thousand times as long.
  const longest = hostileSchemas.map(({ text }) => text).reduce((a, b) => (a.length > b.length ? a : b));
  const before = mainThread();
  for (let n = 0; n < 10; n++) JSON.stringify(JSON.parse(longest));
  maxMs = (mainThread() - before) * 4;
});
afterAll(() => running?.stop());

const anyContent = '"messages":[{"role":"user","content":"hi"}]';
const asFormat = (schema: string) =>
  `{"model":"default",${anyContent},"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":${schema}}}}`;
const asTool = (schema: string) =>
  `{"model":"default",${anyContent},"tools":[{"type":"function","function":{"name":"x","strict":true,"parameters":${schema}}}]}`;

/** Error code of the answer, or `fine`. */
async function send(body: string): Promise<{ status: number; code: string; param: string | null }> {
  const headers = { 'content-type': 'application/json' };
  const { status, text } = await running.api.send('/v1/chat/completions', { body, headers });
  if (status === 200) return { status, code: 'fine', param: null };
  const { code, param } = (JSON.parse(text) as ErrorBody).error;
  return { status, code, param };
}

/** Processor time of the main thread, in milliseconds. */
function mainThread(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

describe('C14, C15: a hostile schema', () => {
  it('comes in at least sixty kinds', () => {
    expect(new Set(hostileSchemas.map(({ name }) => name)).size).toBe(hostileSchemas.length);
    expect(hostileSchemas.length).toBeGreaterThanOrEqual(60);
  });

  it.each(hostileSchemas.map((each) => [each.name, each] as const))(
    '%s: is refused or harmless',
    async (_name, { text, outcome }) => {
      const before = mainThread();
      const tool = await send(asTool(text));
      const format = await send(asFormat(text));
      expect((mainThread() - before) / 2).toBeLessThan(maxMs);
      if (outcome === 'fine') expect(tool.status).toBe(200);
      else expect(['fine', 422]).toContain(tool.status === 200 ? 'fine' : tool.status);
      if (Array.isArray(outcome)) {
        expect(outcome).toContain(tool.code);
        expect(outcome).toContain(format.code);
      }
      if (format.status === 422 && format.param !== null)
        expect(format.param).toMatch(/^response_format\.json_schema\.schema/);
      // If the schema compiles, the scripted engine may still violate it; that is an error, not a crash.
      expect(['fine', 'schema_not_met']).toContain(format.status === 422 ? 'fine' : format.code);
    },
  );

  it('does not block the next schema', async () => {
    const slow = hostileSchemas.find(({ name }) => name.includes('a hundred times'))!;
    const plain = JSON.stringify({ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] });
    const attacks = Array.from({ length: 4 }, (_, n) =>
      send(asFormat(slow.text.replace('{', `{"title":"${n}",`))),
    );
    expect((await send(asFormat(plain))).status).toBe(200);
    for (const { status } of await Promise.all(attacks)) expect(status).toBe(422);
  });
});

describe('an org with many slow schemas', () => {
  it('leaves a thread to other orgs, and all tools of a request are compiled together', async () => {
    const gate = createSchemas({ clock: systemClock, log: silent });
    const slow = hostileSchemas.find(({ name }) => name.includes('a hundred times'))!;
    const tools = (count: number, make: (n: number) => unknown) =>
      Array.from({ length: count }, (_, n) => ({ schema: make(n), where: `tools[${n}]` }));
    let answered = 0;
    const attacks = tools(70, (n) => ({ ...(JSON.parse(slow.text) as object), title: `${n}` })).map((each) =>
      gate.admit([each], 'org_greedy').finally(() => answered++),
    );
    const outcomes = Promise.allSettled(attacks);
    const agent = tools(100, (n) => ({ type: 'object', properties: { [`a${n}`]: { type: 'integer' } } }));
    expect(await gate.admit(agent, 'org_other')).toHaveLength(100);
    expect(answered).toBeLessThan(35);
    await gate.stop();
    await outcomes;
  });
});

describe('an answer whose check would take forever', () => {
  it('is given up if a pattern has look-around, while others are answered', async () => {
    const schema = { type: 'object', properties: { a: { pattern: '^(?!b)([xyz]+)+!$' } } };
    const before = mainThread();
    const [long, short, other] = await Promise.all([
      ask(schema, `[[json {"a":"${'xyz'.repeat(30)}"}]]`),
      ask(schema, '[[json {"a":"x!"}]]'),
      ask({ type: 'object' }, '[[json {}]]'),
    ]);
    expect([long.status, short.status, other.status]).toEqual([422, 200, 200]);
    expect((JSON.parse(long.text) as ErrorBody).error).toMatchObject({
      code: 'schema_too_complex',
      param: 'response_format.json_schema.schema',
    });
    expect(mainThread() - before).toBeLessThan(maxMs);
  });

  const ask = (schema: unknown, content: string) =>
    running.api.send('/v1/chat/completions', {
      json: {
        model: 'default',
        messages: [{ role: 'user', content }],
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      },
    });

  it('is given up, while other answers are checked', async () => {
    // Each pattern is tried with each name.
    const patterns = Array.from({ length: 300 }, (_, n) => [`^p${n}[a-z]*$`, {}]);
    const schema = { patternProperties: Object.fromEntries(patterns) as object };
    const names = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`p${n}`, n]));
    const before = mainThread();
    const [long, short] = await Promise.all([
      ask(schema, `[[json ${JSON.stringify(names)}]]`),
      ask(schema, '[[json {"a":1}]]'),
    ]);
    expect(long.status).toBe(422);
    expect((JSON.parse(long.text) as ErrorBody).error.code).toBe('schema_too_complex');
    expect(short.status).toBe(200);
    expect(mainThread() - before).toBeLessThan(maxMs);
  });

  it('does not result from many unique items', async () => {
    const items = Array.from({ length: 10_000 }, (_, n) => ({ n, deep: { n } }));
    const schema = { type: 'array', uniqueItems: true, items: { type: 'object' } };
    expect((await ask(schema, `[[json ${JSON.stringify(items)}]]`)).status).toBe(200);
    const twice = [...items, { deep: { n: 7 }, n: 7 }];
    const missed = await ask(schema, `[[json ${JSON.stringify(twice)}]]`);
    expect((JSON.parse(missed.text) as ErrorBody).error.code).toBe('schema_not_met');
  });
});

describe('a batch line with a hostile schema', () => {
  it('is reported with its line when the file is uploaded, among valid lines', async () => {
    const { api } = running;
    const format = (schema: unknown) => ({
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    });
    const ring = { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' };
    const good = chatLine('good', 'hi', format({ type: 'integer' }));
    const { status, text } = await api.sendFile(
      jsonl([
        good,
        chatLine('endless', 'hi', format(ring)),
        chatLine('remote', 'hi', format({ $ref: 'http://169.254.169.254/' })),
        chatLine('plain'),
      ]),
    );
    expect(status).toBe(422);
    expect((JSON.parse(text) as ErrorBody).error.details.errors).toMatchObject([
      { line: 2, custom_id: 'endless', code: 'schema_too_complex' },
      { line: 3, custom_id: 'remote', code: 'validation_error' },
    ]);
    const batch = await api.finished((await api.createBatch((await api.upload([good])).id)).id);
    expect(batch.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
  });
});

describe('C15: ten thousand random schemas', () => {
  const keyword = fc.constantFrom(
    ...(
      'type enum const items prefixItems contains properties patternProperties additionalProperties required allOf ' +
      'anyOf oneOf not if then else $ref $defs definitions pattern minimum maximum multipleOf minLength maxItems ' +
      'uniqueItems dependentSchemas dependencies propertyNames unevaluatedProperties format $id $schema $anchor ' +
      '$async $dynamicRef nullable discriminator default id'
    ).split(' '),
  );
  const scrap = fc.oneof(
    fc.constantFrom(
      'string',
      'object',
      'array',
      'number',
      '#',
      '#/$defs/a',
      '#/properties/a',
      '^a+$',
      '(',
      'a',
    ),
    fc.constantFrom(0, -1, 1, 1.5, 1e308, null, true, false),
    fc.constantFrom<unknown>([], {}, ['a'], ['string', 'null'], [{}], { a: {} }),
  );
  const { schema } = fc.letrec<{ schema: unknown; value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'schema' },
      scrap,
      tie('schema'),
      fc.array(tie('schema'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), tie('schema'), { maxKeys: 3 }),
    ),
    schema: fc.dictionary(keyword, tie('value'), { maxKeys: 4 }),
  }));

  it('crash neither the process nor its threads', async () => {
    const schemas = fc.sample(schema, { numRuns: 10_000, seed: 20_261_121 });
    const codes = new Map<string, number>();
    const gate = createSchemas({ clock: systemClock, log: silent });
    const codeOf = async (one: unknown): Promise<string> => {
      try {
        const [admitted] = await gate.admit([{ schema: one, where: 'schema' }], 'org_1');
        await admitted!.fault('{"a":["a"]}');
        return 'fine';
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        expect(error.status).toBe(422);
        return error.code;
      }
    };
    const turns = schemas.values();
    const testInSequence = async () => {
      for (const one of turns) {
        const code = await codeOf(one);
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 32 }, testInSequence));
    await gate.stop();
    console.info('10,000 random schemas:', Object.fromEntries(codes));
    expect(codes.get('fine')).toBeGreaterThan(500);
    expect(codes.get('validation_error')).toBeGreaterThan(500);
  });
});
