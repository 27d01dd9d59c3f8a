import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../core/errors.ts';
import { createCatalog } from '../../core/model.ts';
import { modelFor } from '../../core/model-access.ts';
import { type CheckedLine, type LineCheckerOptions, type LineVerdict, createLineChecker } from './line.ts';
import { readLine } from './read-line.ts';

const prices = { input: 0, cachedInput: 0, output: 0 };
const catalog = createCatalog([
  { id: 'tiny', aliases: ['default'], serves: ['chat'], prices, createdAt: 0 },
  { id: 'vectors', aliases: [], serves: ['embeddings'], prices, createdAt: 0 },
  { id: 'secret', aliases: [], serves: ['chat'], prices, createdAt: 0 },
]);
const refuseModel: LineCheckerOptions['refuseModel'] = (name, serves) => {
  try {
    modelFor(catalog, { models: ['tiny', 'vectors'] }, name, serves);
    return undefined;
  } catch (error) {
    return error as ApiError;
  }
};

/** Takes lines as text. */
function checker(options: Partial<LineCheckerOptions> = {}) {
  const lines = createLineChecker({ refuseModel, ...options });
  return {
    check: (text: string, number: number) => lines.check(Buffer.from(text), number),
    get endpoint() {
      return lines.endpoint;
    },
  };
}

const chatBody = { model: 'tiny', messages: [{ role: 'user', content: 'hi' }] };
const good = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: chatBody };
const line = (changes: object = {}) => JSON.stringify({ ...good, ...changes });
const without = (key: keyof typeof good) => JSON.stringify({ ...good, [key]: undefined });

/** `code param` of every fault of one line. */
function faultsOf(text: string, options: Partial<LineCheckerOptions> = {}): string[] {
  const verdict = checker(options).check(text, 17);
  return verdict.ok ? [] : verdict.faults.map(({ code, param }) => `${code} ${param ?? '-'}`);
}

function messagesOf(text: string): string[] {
  const verdict = checker().check(text, 17);
  return verdict.ok ? [] : verdict.faults.map(({ message }) => message);
}

describe('a request body instead of a batch line', () => {
  const body = JSON.stringify(chatBody);

  it('is one fault for any number of such lines', () => {
    const lines = checker();
    const faults = [1, 2, 1].map((number) => {
      const verdict = lines.check(body, number);
      return verdict.ok ? null : verdict.faults.length;
    });
    expect(faults).toEqual([1, 0, 1]);
  });

  it.each([
    body,
    '{"input":"text","model":"vectors"}',
    '{"prompt":"text"}',
    '{"query":"text","documents":["a"]}',
    '{"custom_id":"a","messages":[]}',
  ])('is recognised: %s', (text) => {
    expect(messagesOf(text)).toEqual([expect.stringContaining('bare request bodies')]);
  });

  it.each([
    '{"conversations":[{"from":"human","value":"hi"}]}',
    '{"custom_id":"a","params":{"messages":[]}}',
    '{"text":"hi"}',
  ])('is one fault where it is of another format: %s', (text) => {
    const { check } = checker();
    const faults = [1, 2].map((number) => check(text, number));
    expect(faults).toEqual([
      { ok: false, faults: [expect.objectContaining({ line: 1, code: 'invalid_json_line' })] },
      { ok: false, faults: [] },
    ]);
    expect(messagesOf(text)).toEqual([
      expect.stringContaining('are not batch lines: a line is {"custom_id"'),
    ]);
  });

  it('is not assumed if any member of a batch line is present', () => {
    expect(messagesOf('{"messages":[],"url":"/v1/chat/completions"}').join()).not.toContain('request bodies');
  });
});

it.each([
  ['/chat/completions', true],
  ['chat/completions', true],
  ['/v1/chat/completions/', true],
  ['/openai/v1/chat/completions', true],
  ['https://api.openai.com/v1/chat/completions', true],
  ['/v1/audio/speech', false],
  ['/v2/chat/completions', false],
])('names the endpoint that is meant by %s: %s', (url, isMeant) => {
  const [message] = messagesOf(line({ url }));
  expect(message).toMatch(isMeant ? /got ".*"; write "\/v1\/chat\/completions"$/ : /got "[^"]*"$/);
});

describe('a good line', () => {
  it('has its parts', () => {
    const text = ` { "custom_id":"a", "method" : "POST","url":"/v1/chat/completions","body": ${JSON.stringify(chatBody)} }`;
    const checked = checker().check(text, 1) as CheckedLine;
    expect([checked.ok, checked.customId, checked.url, checked.model]).toEqual([true, 'a', good.url, 'tiny']);
  });

  it('is estimated by its bytes and its output', () => {
    const est = (body: object, bytes: number) =>
      (checker().check(line({ body: { ...chatBody, ...body } }).padEnd(bytes), 1) as CheckedLine).est;
    expect(est({}, 400)).toBe(100 + 512);
    expect(est({ max_tokens: 20 }, 401)).toBe(101 + 20);
    expect(est({ max_tokens: 20, max_completion_tokens: 30 }, 400)).toBe(100 + 30);
    expect(est({ max_tokens: 100_000 }, 400)).toBe(100 + 512);
    expect(est({ max_tokens: 20, n: 3 }, 400)).toBe(100 + 60);
    expect(est({ n: null }, 400)).toBe(100 + 512);
  });

  it('of embeddings has no output to estimate', () => {
    const body = { model: 'vectors', input: ['a'] };
    const text = line({ url: '/v1/embeddings', body }).padEnd(200);
    const checked = checker().check(text, 1) as CheckedLine;
    expect([checked.est, checked.prompt]).toEqual([50, null]);
  });

  it('may name its model by an alias', () => {
    expect((checker().check(line({ body: { ...chatBody, model: 'default' } }), 1) as CheckedLine).model).toBe(
      'default',
    );
  });
});

describe('the rules of a line', () => {
  it.each([
    ['{"custom_id":"a"', 'invalid JSON: the text ends inside an object (column 17)'],
    ['{"custom_id":"a",}', 'invalid JSON: trailing comma (column 18)'],
    ['{"custom_id":NaN}', 'invalid JSON: NaN is not a JSON value (column 14)'],
    ["{'custom_id':1}", 'invalid JSON: strings need double quotes, not single quotes (column 2)'],
    ['{} // x', 'invalid JSON: JSON does not allow comments (column 4)'],
  ])('B10: %s is invalid_json_line with its column', (text, message) => {
    expect(faultsOf(text)).toEqual(['invalid_json_line -']);
    expect(messagesOf(text)).toEqual([message]);
  });

  it.each(['[]', '"text"', 'null', '5', '[{"custom_id":"a"}]'])('B11: %s is not a request', (text) => {
    expect(faultsOf(text)).toEqual(['invalid_json_line -']);
  });

  it('B12: every one of the four members is required', () => {
    expect(faultsOf(without('custom_id'))).toEqual(['validation_error custom_id']);
    expect(faultsOf(without('method'))).toEqual(['validation_error method']);
    expect(faultsOf(without('url'))).toEqual(['validation_error url']);
    expect(faultsOf(without('body'))).toEqual(['validation_error body']);
    expect(faultsOf('{}')).toHaveLength(4);
    for (const body of [[], null, 'x', 5])
      expect(faultsOf(line({ body }))).toEqual(['validation_error body']);
  });

  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(513)],
    ['a number', 5],
    ['null', null],
    ['with a tab', 'a\tb'],
    ['with a C1 control', 'a\u0085b'],
  ])('B13: a custom_id that is %s is refused', (_, customId) => {
    expect(faultsOf(line({ custom_id: customId }))).toEqual(['validation_error custom_id']);
  });

  it('B13: 512 characters are fine', () => {
    expect(faultsOf(line({ custom_id: 'x'.repeat(512) }))).toEqual([]);
  });

  it('B14: a duplicate custom_id is reported with both line numbers, however far apart', () => {
    const check = checker();
    for (let number = 1; number <= 9_999; number += 1)
      expect(check.check(line({ custom_id: `id-${number}` }), number).ok).toBe(true);
    const verdict = check.check(line({ custom_id: 'id-1' }), 10_000);
    expect(verdict).toEqual({
      ok: false,
      faults: [
        {
          line: 10_000,
          custom_id: 'id-1',
          param: 'custom_id',
          code: 'duplicate_custom_id',
          message: 'lines 1 and 10000 have the same custom_id',
        },
      ],
    });
  });

  it('B15: ids that UTF-8 cannot tell apart are refused', () => {
    for (const escaped of ['\\ud800', '\\udfff', 'a\\ud83d'])
      expect(faultsOf(line().replace('"a"', `"${escaped}"`))).toEqual(['validation_error custom_id']);
    expect(faultsOf(line({ custom_id: '😀' }))).toEqual([]);
  });

  it('B16: composed and decomposed ids are different', () => {
    const check = checker();
    expect(check.check(line({ custom_id: 'caf\u00e9' }), 1).ok).toBe(true);
    const second = check.check(line({ custom_id: 'cafe\u0301' }), 2) as CheckedLine;
    expect([second.ok, second.customId]).toEqual([true, 'cafe\u0301']);
  });

  it.each(['GET', 'post', '', null, 5])('B17: the method %j is refused', (method) => {
    expect(faultsOf(line({ method }))).toEqual(['validation_error method']);
  });

  it.each([
    '/v1/responses',
    '/v1/chat/completions/',
    '/v1/chat/completions?x=1',
    '/v1/../v1/chat/completions',
    'https://api.example.com/v1/chat/completions',
    '/V1/CHAT/COMPLETIONS',
    '',
  ])('B18: the url %j is url_mismatch', (url) => {
    expect(faultsOf(line({ url }))).toEqual(['url_mismatch url']);
  });

  it('B18: all lines of a file have the url of the first', () => {
    const check = checker();
    const embeddings = line({
      custom_id: 'b',
      url: '/v1/embeddings',
      body: { model: 'vectors', input: 'x' },
    });
    check.check(line(), 1);
    expect(check.endpoint).toBe('/v1/chat/completions');
    const verdict = check.check(embeddings, 2);
    expect(verdict.ok ? [] : verdict.faults.map(({ code, param }) => [code, param])).toEqual([
      ['url_mismatch', 'url'],
    ]);
  });

  it('B18: lines have the url of their batch', () => {
    expect(faultsOf(line(), { endpoint: '/v1/embeddings' })).toEqual(['url_mismatch url']);
  });

  it('B19: a model that is unknown, not allowed or of the other kind is refused', () => {
    const named = (model: string) => line({ body: { ...chatBody, model } });
    expect(faultsOf(named('nope'))).toEqual(['model_not_found body.model']);
    expect(faultsOf(named('secret'))).toEqual(['model_not_allowed body.model']);
    expect(faultsOf(named('vectors'))).toEqual(['model_not_found body.model']);
    expect(messagesOf(named('vectors'))[0]).toContain('does not serve chat completions');
    expect(faultsOf(named(''))).toEqual(['validation_error body.model']);
  });

  it('B19: asks for each model once', () => {
    let asked = 0;
    const check = checker({ refuseModel: () => void (asked += 1) });
    for (let number = 1; number <= 5; number += 1) check.check(line({ custom_id: `${number}` }), number);
    expect(asked).toBe(1);
  });

  it('B20: stream: true is refused, stream: false is not', () => {
    expect(faultsOf(line({ body: { ...chatBody, stream: true } }))).toEqual(['validation_error body.stream']);
    expect(faultsOf(line({ body: { ...chatBody, stream: false } }))).toEqual([]);
  });

  it.each([
    [{ n: 1e6 }, 'body.n'],
    [{ max_tokens: -1 }, 'body.max_tokens'],
    [{ max_tokens: 1e12 }, 'body.max_tokens'],
    [{ max_tokens: '5' }, 'body.max_tokens'],
    [{ temperature: 1e308 }, 'body.temperature'],
    [{ logit_bias: { '1': 1e9 } }, 'body.logit_bias["1"]'],
  ])('B21: %j is told with its path', (extra, param) => {
    expect(faultsOf(line({ body: { ...chatBody, ...extra } }))).toEqual([`validation_error ${param}`]);
  });

  it('B22: odd numbers stay as they are in the body', () => {
    const body =
      '{"model":"tiny","messages":[{"role":"user","content":"x"}],"seed":12345678901234567890,"x":1e400,"y":-0,"z":1.10}';
    const text = `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":${body}}`;
    expect(checker().check(text, 1).ok).toBe(true);
    expect(readLine(Buffer.from(text)).body.text).toBe(body);
  });

  it('B23: a key that stands twice anywhere is refused', () => {
    expect(faultsOf(line().replace('"method"', '"method":"GET","method"'))).toEqual(['duplicate_key -']);
    expect(faultsOf(line().replace('"model"', '"model":"secret","model"'))).toEqual(['duplicate_key -']);
  });

  it('B24: more than 64 levels are refused before parsing', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const text = (levels: number) => line().replace('"model"', `"deep":${nested(levels)},"model"`);
    expect(faultsOf(text(62))).toEqual([]);
    expect(faultsOf(text(63))).toEqual(['too_deep -']);
    expect(faultsOf(text(100_000))).toEqual(['too_deep -']);
  });

  it('B25: __proto__ and constructor in a body are data; in the line they are unknown fields', () => {
    const inBody = line().replace(
      '"model"',
      '"__proto__":{"x":1},"constructor":{"prototype":{"x":1}},"model"',
    );
    expect(faultsOf(inBody)).toEqual([]);
    expect(faultsOf(line().replace('"method"', '"__proto__":{"x":1},"method"'))).toEqual([
      'validation_error __proto__',
    ]);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it('B26: NUL and lone surrogates in a prompt are accepted', () => {
    const text = line({ body: { ...chatBody, messages: [{ role: 'user', content: 'PROMPT' }] } });
    expect(faultsOf(text.replace('PROMPT', '\\u0000 \\ud800'))).toEqual([]);
  });

  it('B27: NUL in a custom_id is refused', () => {
    expect(faultsOf(line().replace('"a"', '"\\u0000"'))).toEqual(['validation_error custom_id']);
  });

  it('B28: a line of a million small values is refused unparsed', () => {
    const text = line().replace('"model"', `"junk":[${'{},'.repeat(1_000_000)}{}],"model"`);
    expect(faultsOf(text)).toEqual(['line_too_long -']);
  });

  it('B43: faults of a message carry its path', () => {
    const messages = [...chatBody.messages, { role: 'user', content: 5 }];
    expect(faultsOf(line({ body: { ...chatBody, messages } }))).toEqual([
      'validation_error body.messages[1].content',
    ]);
  });

  it('an image URL of a moderation is refused unless the model takes them', () => {
    const images = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }];
    const text = line({ url: '/v1/moderations', body: { model: 'tiny', input: images } });
    const asked = (takes: boolean) =>
      faultsOf(text, {
        endpoints: ['/v1/moderations'],
        refuseModel: () => undefined,
        takesImageUrls: () => takes,
      });
    expect(asked(true)).toEqual([]);
    expect(asked(false)).toEqual(['validation_error body.input[0]']);
  });

  it('a fifth member is refused', () => {
    expect(faultsOf(line({ priority: 1 }))).toEqual(['validation_error priority']);
  });

  it('tells all faults of a line at once, with the custom_id', () => {
    const verdict = checker().check(
      JSON.stringify({ custom_id: 'x', method: 'GET', url: '/no', body: { model: 'nope' } }),
      3,
    );
    expect(
      verdict.ok ? [] : verdict.faults.map(({ line: at, custom_id: id, param }) => [at, id, param]),
    ).toEqual([
      [3, 'x', 'url'],
      [3, 'x', 'method'],
    ]);
  });

  it('names places of an inline batch by request', () => {
    const check = checker({ source: 'inline', endpoint: '/v1/chat/completions' });
    check.check(line(), 1);
    const verdict = check.check(line({ body: { ...chatBody, messages: 5 } }), 2);
    expect(verdict.ok ? [] : verdict.faults).toEqual([
      {
        custom_id: 'a',
        param: 'requests[1].custom_id',
        code: 'duplicate_custom_id',
        message: 'requests[0] and requests[1] have the same custom_id',
      },
      {
        custom_id: 'a',
        param: 'requests[1].body.messages',
        code: 'validation_error',
        message: 'expected an array, got 5',
      },
    ]);
    expect(check.check('nonsense', 3)).toMatchObject({
      faults: [{ param: 'requests[2]', code: 'invalid_json_line' }],
    });
  });
});

describe('a line that is not ASCII', () => {
  const escaped = (text: string) =>
    text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

  it('is told the same as one whose characters are escaped', () => {
    const word = fc.constantFrom('a', 'ä', 'Ã¤', '–', '日', '😀', '\u0085', '\u00a0', 'user', 'tool', '');
    const value: fc.Arbitrary<unknown> = fc.oneof(word, fc.constantFrom(null, 1, [], {}));
    const message = fc.record({ role: word, content: value, name: value, tool_call_id: value });
    const body = fc.record({
      model: fc.constantFrom('tiny', 'größe', 'groesse'),
      messages: fc.oneof(fc.array(fc.oneof(fc.constant(chatBody.messages[0]), message)), value),
      tools: fc.oneof(fc.constant(undefined), fc.array(fc.record({ type: word, function: value }))),
      stop: value,
    });
    const one = fc.record({
      custom_id: fc.oneof(word, value),
      method: fc.constantFrom('POST', 'PÖST'),
      url: fc.constantFrom(good.url, '/v1/ä'),
      body: fc.oneof(body, value),
    });
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            one,
            fc.record({ custom_id: word }).map((id) => ({ ...good, ...id })),
          ),
        ),
        (lines) => {
          const [raw, plain] = [checker(), checker()];
          for (const [at, each] of lines.entries()) {
            const text = JSON.stringify(each);
            const told = (verdict: LineVerdict) =>
              verdict.ok ? [verdict.customId, verdict.model, verdict.url] : verdict.faults;
            expect(told(raw.check(text, at + 1))).toEqual(told(plain.check(escaped(text), at + 1)));
          }
        },
      ),
    );
  });

  it('may not have a key twice, once escaped', () => {
    const text = line({ body: { ...chatBody, user: 'x' } });
    expect(faultsOf(text.replace('"user":"x"', '"ä":1,"\\u00e4":2'))).toEqual(['duplicate_key -']);
  });

  it('tells the column of a fault in characters', () => {
    expect(messagesOf('{"custom_id":"日本語" x')).toEqual([
      "invalid JSON: expected a comma or }, got 'x' (column 20)",
    ]);
  });

  it('has an id and a model of that name, once', () => {
    const names: string[] = [];
    const check = checker({ refuseModel: (name) => void names.push(name) });
    const text = line({ custom_id: 'süß', body: { ...chatBody, model: 'größe' } });
    expect(check.check(text, 1)).toMatchObject({ ok: true, customId: 'süß', model: 'größe' });
    expect(check.check(escaped(text), 2)).toMatchObject({ faults: [{ code: 'duplicate_custom_id' }] });
    expect(names).toEqual(['größe']);
  });
});
