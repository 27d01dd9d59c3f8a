import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usualRules } from '../../../test/support/batch-rules.ts';
import type { BatchRules } from '../../core/batch.ts';
import { ApiError } from '../../core/errors.ts';
import { findMember, scanJson } from '../json/scan.ts';
import { type CreateBatchOptions, parseCreateBatch } from './create.ts';
import { scanFrame } from './scan-frame.ts';

const frame = { endpoint: '/v1/chat/completions', completion_window: '24h' };
const byFile = { ...frame, input_file_id: 'file-1' };
const request = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { model: 'm' } };
const text = (value: object) => JSON.stringify(value);

const day = 86_400_000;
const twoDays = { windows: [{ ms: 2 * day, priceFactor: 0.5 }] } as const;
const several = {
  windows: [
    { ms: 3_600_000, priceFactor: 0.8 },
    { ms: day, priceFactor: 0.5 },
    { ms: 7 * day, priceFactor: 0.4 },
  ],
} as const;

type Options = Partial<BatchRules & CreateBatchOptions>;

/** The parsed body, its requests as text, and the number of pauses while it is read. */
function read(
  body: string,
  { windows = [{ ms: day, priceFactor: 0.5 }], ignoresModel, ...rules }: Options = {},
) {
  const bytes = new TextEncoder().encode(body);
  const steps = parseCreateBatch(bytes, { ...usualRules, ...rules }, { windows, ignoresModel });
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses += 1;
  const { dryRun, input } = step.value;
  const requests = input.requests?.map((each) => new TextDecoder().decode(each));
  return { asked: { dryRun, input: { ...input, ...(requests && { requests }) } }, pauses };
}
const parse = (body: string, options?: Options) => read(body, options).asked;

function errorOf(body: string, options?: Options): ApiError {
  try {
    parse(body, options);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('was accepted');
}
const refusal = (value: object): string => {
  const { status, code, message } = errorOf(text(value));
  return `${status} ${code} ${message}`;
};

describe('a create-batch body', () => {
  it('by file, with all fields', () => {
    const body = text({
      ...byFile,
      metadata: { a: 1 },
      output_expires_after: { anchor: 'created_at', seconds: 3600 },
      dry_run: true,
    });
    expect(parse(body)).toEqual({
      dryRun: true,
      input: {
        endpoint: frame.endpoint,
        inputFileId: 'file-1',
        metadata: '{"a":1}',
        outputExpiresAfterSeconds: 3600,
      },
    });
  });

  it('treats null as absent', () => {
    const nothing = { metadata: null, output_expires_after: null, dry_run: null };
    expect(parse(text({ ...byFile, requests: null, ...nothing }))).toEqual({
      dryRun: false,
      input: { endpoint: frame.endpoint, inputFileId: 'file-1' },
    });
    const inline = parse(text({ ...frame, input_file_id: null, requests: [request], ...nothing }));
    expect(inline.input.requests).toEqual([text(request)]);
  });

  it('keeps inline requests unchanged, on one line each', () => {
    const item = '{ "custom_id":"a","body":{"seed":12345678901234567890,"t":"line\\nbreak"},\n\r\n "x":1.10}';
    const body = `{"endpoint":"/v1/embeddings","completion_window":"24h","requests":[ ${item} ,\n 5 ]}`;
    expect(parse(body).input.requests).toEqual([item.replaceAll(/[\n\r]/g, ' '), '5']);
  });

  it('B34: exactly one of file and requests, and some requests', () => {
    expect(refusal(frame)).toBe(
      '422 validation_error input_file_id: one of input_file_id and requests is required',
    );
    expect(refusal({ ...byFile, requests: [request] })).toBe(
      '422 validation_error requests: cannot be combined with input_file_id',
    );
    expect(refusal({ ...frame, requests: [] })).toBe('422 validation_error requests: must not be empty');
    expect(refusal({ ...frame, requests: {} })).toBe(
      '422 validation_error requests: expected an array, got an object',
    );
    expect(refusal({ ...frame, input_file_id: 5 })).toBe(
      '422 validation_error input_file_id: expected a string, got 5',
    );
  });

  it('B35: endpoint and window are required and of the known ones', () => {
    expect(errorOf('{"input_file_id":"f"}').faults.map(({ param }) => param)).toEqual([
      'endpoint',
      'completion_window',
    ]);
    expect(refusal({ ...byFile, completion_window: '1h' })).toBe(
      '422 validation_error completion_window: expected "24h", got "1h"',
    );
    expect(refusal({ ...byFile, endpoint: '/v1/responses' })).toContain(
      'endpoint: expected "/v1/chat/completions" or "/v1/embeddings"',
    );
  });

  it.each(['24h', '48h', '2d'])('accepts %s for the configured window', (window) => {
    const body = { ...byFile, completion_window: window };
    expect(parse(text(body), twoDays).input.inputFileId).toBe('file-1');
  });

  it('names both accepted windows', () => {
    expect(() => parse(text({ ...byFile, completion_window: '1h' }), twoDays)).toThrow(
      'completion_window: expected "24h" or "48h", got "1h"',
    );
  });

  it.each([
    ['24h', undefined],
    ['1d', undefined],
    ['1h', 0.8],
    ['60m', 0.8],
    ['168h', 0.4],
  ])('takes %s for one of several windows, and 24h for the default one', (window, priceFactor) => {
    const body = text({ ...byFile, completion_window: window });
    expect(parse(body, several).input.window?.priceFactor).toBe(priceFactor);
  });

  it('names all windows, and 24h, for one that is not offered', () => {
    const body = text({ ...byFile, completion_window: '2h' });
    expect(() => parse(body, several)).toThrow('expected "1h" or "24h" or "7d", got "2h"');
  });

  it('names what clients of Azure and LiteLLM send', () => {
    expect(refusal({ ...byFile, model: 'm' })).toBe(
      '422 validation_error model: unknown field: set the model in the body of each request',
    );
    expect(refusal({ ...byFile, endpoint: '/chat/completions' })).toBe(
      '422 validation_error endpoint: expected "/v1/chat/completions" or "/v1/embeddings", got "/chat/completions"; write "/v1/chat/completions"',
    );
    expect(refusal({ ...byFile, endpoint: '/other' })).not.toContain('; write');
  });

  it.each([String.raw`{"a":"\ud800"}`, String.raw`{"a":[{"\uDFFF":1}]}`])(
    'metadata with half of a surrogate pair is refused: %s',
    (metadata) => {
      const body = text(byFile).replace(/}$/, `,"metadata":${metadata}}`);
      expect(errorOf(body)).toMatchObject({ status: 422, param: 'metadata' });
      expect(parse(body.replaceAll(/\\u(?=d)/gi, String.raw`\\u`)).input.metadata).toBeDefined();
    },
  );

  it.each([[[]], ['text'], [5], [true]])('B36: the metadata %j is refused', (metadata) => {
    expect(errorOf(text({ ...byFile, metadata })).param).toBe('metadata');
  });

  it('B36: rejects more than 16 KiB and more than eight levels, but not exactly those', () => {
    const sized = (bytes: number) => text({ ...byFile, metadata: { a: 'é'.repeat((bytes - 8) / 2) } });
    expect(parse(sized(16_384)).input.metadata).toHaveLength(8 + 8_188);
    expect(errorOf(sized(16_386)).message).toBe('metadata: expected at most 16384 bytes of JSON, got 16386');
    const nested = (levels: number) =>
      `{"endpoint":"/v1/embeddings","completion_window":"24h","input_file_id":"f","metadata":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;
    expect(parse(nested(8)).input.metadata).toContain('1');
    expect(errorOf(nested(9)).message).toBe('metadata: expected at most 8 levels of nesting');
  });

  it('B36: anything else in it is kept byte for byte', () => {
    const metadata =
      '{ "__proto__":{"x":1},"n":1.10,"big":12345678901234567890,"nul":"\\u0000","b":2,"a":[1] }';
    const body = `{"endpoint":"/v1/embeddings","completion_window":"24h","input_file_id":"f","metadata":${metadata}}`;
    expect(parse(body).input.metadata).toBe(metadata);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it('refuses unknown fields and bad expiries', () => {
    expect(refusal({ ...byFile, prority: 1 })).toBe('422 validation_error prority: unknown field');
    const expiring = (output_expires_after: object) =>
      errorOf(text({ ...byFile, output_expires_after })).param;
    expect(expiring({ anchor: 'created_at', seconds: 3599 })).toBe('output_expires_after.seconds');
    expect(expiring({ anchor: 'created_at', seconds: 2_592_001 })).toBe('output_expires_after.seconds');
    expect(expiring({ anchor: 'created_at', seconds: '3600' })).toBe('output_expires_after.seconds');
    expect(expiring({ anchor: 'now', seconds: 3600 })).toBe('output_expires_after.anchor');
    expect(expiring({ seconds: 3600 })).toBe('output_expires_after.anchor');
  });

  it('rejects an id with a NUL, which Postgres cannot look up', () => {
    expect(refusal({ ...frame, input_file_id: 'file-\0' })).toBe(
      '422 validation_error input_file_id: has a NUL character',
    );
  });

  it('B29: 10,000 requests are accepted, one more is too_many_tasks', () => {
    const many = (count: number) =>
      `{"endpoint":"/v1/embeddings","completion_window":"24h","requests":[${Array.from({ length: count }, () => '{}').join()}]}`;
    expect(parse(many(10_000)).input.requests).toHaveLength(10_000);
    const error = errorOf(many(10_001));
    expect([error.status, error.code, error.param]).toEqual([422, 'too_many_tasks', 'requests']);
  });

  it('B29: counts the bytes of the requests as JSON Lines', () => {
    const body = text({ ...frame, requests: ['é', 'é'] });
    // Two quotes, two bytes and a newline for each.
    expect(parse(body, { requests: 10, inlineBytes: 10 }).input.requests).toHaveLength(2);
    const error = errorOf(body, { requests: 10, inlineBytes: 9 });
    expect([error.status, error.code]).toEqual([413, 'payload_too_large']);
  });

  it('says where a broken body is broken', () => {
    expect(errorOf('{"endpoint":1,}').message).toContain('line 1, column 15: trailing comma');
    expect(errorOf('{"requests":[{"a":1').message).toContain('the text ends inside');
    expect(errorOf(`{"requests":["${'x'.repeat(2_000_000)}`).message).toContain(
      'a bracket or a string is not closed',
    );
    expect(errorOf('[]').message).toContain('expected an object');
    expect(errorOf('null').message).toContain('expected an object, got null');
    expect(errorOf('{"requests":[1],"requests":[2]}').code).toBe('duplicate_key');
    expect(errorOf(text({ ...frame }).replace('}', ',"requests":[1,,2]}')).param).toBe('requests[1]');
    expect(errorOf(text({ ...frame }).replace('}', ',"requests":["a\nb"]}')).code).toBe('invalid_json_line');
  });

  it('B24, B28: refuses depth, and keys without end, before parsing', () => {
    expect(errorOf(`{"requests":[${'['.repeat(1_000_000)}`).code).toBe('too_deep');
    const keys = Array.from({ length: 250_000 }, (_, at) => `"${at}":0`).join();
    expect(errorOf(`{${keys}}`).status).toBe(422);
  });

  it.each([
    ['small requests', () => Array.from({ length: 10_000 }, (_, at) => ({ custom_id: `${at}`, a: [1, 2] }))],
    ['one string full of quotes', () => ['"\\'.repeat(1_000_000)]],
    ['brackets and commas', () => Array.from({ length: 2_000 }, () => Array.from({ length: 500 }, () => []))],
    ['numbers', () => [Array.from({ length: 150_000 }, (_, at) => at)]],
  ])('pauses in time, whatever it is made of: %s', (_, requests) => {
    for (const spread of [undefined, 1]) {
      const body = JSON.stringify({ ...frame, requests: requests() }, null, spread);
      const { pauses } = read(body);
      // Found and then cut out, each with a pause after 128 KiB; a string without an end in sight is one token.
      expect(pauses).toBeGreaterThanOrEqual(Math.floor(body.length / 131_072) - 1);
    }
  });

  it('finds the same requests as a scan of the text', () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const body = fc.tuple(fc.dictionary(fc.string(), value), fc.array(value), fc.constantFrom(undefined, 1));
    fc.assert(
      fc.property(body, fc.boolean(), ([others, list, spread], isEscaped) => {
        const whole = JSON.stringify({ ...others, requests: list, last: others }, null, spread);
        const json = isEscaped ? whole.replace('"requests"', '"\\u0072equests"') : whole;
        const bytes = new TextEncoder().encode(json);
        const steps = scanFrame(bytes, 3, 7);
        let step = steps.next();
        while (!step.done) step = steps.next();
        const found = step.value;
        const expected = scanJson(json);
        const requests = findMember(expected, 'requests')!;
        const inside = json.slice(requests.start, requests.end);
        const { elements } = scanJson(inside);
        const cut = ({ start, end }: { start: number; end: number }) =>
          new TextDecoder().decode(bytes.subarray(start, end));
        expect(found.closed).toBe(true);
        expect(found.requestCount).toBe(elements.length);
        expect(found.requests.map(cut)).toEqual(
          elements.slice(0, 3).map(({ start, end }) => inside.slice(start, end)),
        );
        expect(found.members.map((member) => [member.name, cut(member)])).toEqual(
          expected.members.map(({ name, start, end }) => [name, json.slice(start, end)]),
        );
      }),
    );
  });

  it('leaves the checks of a line to the line checker', () => {
    const body = text({ ...frame, requests: [{ nonsense: true }, { a: 1 }] }).replace(
      '{"a":1}',
      '{"a":1,"a":2}',
    );
    expect(parse(body).input.requests).toEqual(['{"nonsense":true}', '{"a":1,"a":2}']);
  });
});
