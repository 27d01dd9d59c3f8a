import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createThreadChecker } from '../checker.ts';
import { type Run, TooMuch } from './evaluate.ts';
import { createPatternCompiler } from './patterns.ts';

const newRun = (maxSteps: number): Run => ({
  steps: 0,
  maxSteps,
  depth: 0,
  maxDepth: 1,
  records: false,
  path: [],
  fault: null,
});
const unlimited = { maxInstructions: Infinity, backtracking: true };

it.each([
  // A pattern that RE2 supports, and that would never end elsewhere.
  ['^(a+)+$', `${'a'.repeat(5_000)}!`, false],
  ['^(?!\\.)[a-z.]+$', 'a.b', true],
  ['^(?!\\.)[a-z.]+$', '.a', false],
  ['(?<=\\$)\\d+', 'costs $7', true],
  ['(?<=\\$)\\d+', 'costs 7', false],
  ['^(a|b)\\1$', 'bb', true],
  ['^(a|b)\\1$', 'ab', false],
  ['^(?<q>["\']).*\\k<q>$', `'x'`, true],
  ['^.{0,2000}$', 'x'.repeat(2_000), true],
  ['^.{0,2000}$', 'x'.repeat(2_001), false],
  ['^(?=.*\\d)[\\w\\@-]+$', 'a@1', true],
  ['^(?=.*\\d)[\\w-.]+$', 'a.1', true],
  ['^(?!a).$', '😀', true],
  // pydantic writes this for Decimal.
  ['^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$', '-12.50', true],
  ['^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$', '-.', false],
])('%s is applied to %j', (pattern, text, fits) => {
  expect(createPatternCompiler(unlimited)(pattern)(text, newRun(Infinity))).toBe(fits);
});

it.each(['(', '(?!a', '^(?!a).*\\Z', '^\\A(?!a)b', '(?<!a)\\p{Nonsense}', '(?i)(?!a)b', '(?P<n>a)(?!b)'])(
  '%s is refused: it is no expression of RE2 or JavaScript',
  (pattern) => {
    expect(() => createPatternCompiler(unlimited)(pattern)).toThrow(SyntaxError);
  },
);

const oldEmail = `^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$`;

it.each<[string, object, good: string, bad: string]>([
  ['email', z.toJSONSchema(z.email()), 'a.b@example.com', '.a@example.com'],
  [
    'email of earlier versions',
    { type: 'string', format: 'email', pattern: oldEmail },
    'a.b@example.com',
    'a..b@example.com',
  ],
  ['email of browsers', z.toJSONSchema(z.email({ pattern: z.regexes.html5Email })), 'a@b.c', 'a@'],
  ['email of RFC 5322', z.toJSONSchema(z.email({ pattern: z.regexes.rfc5322Email })), 'a@b.cc', 'a@b'],
  [
    'uuid',
    z.toJSONSchema(z.uuid()),
    '9a2c3f0e-3b1a-4c58-8b53-0f4c1d0a7e11',
    '9a2c3f0e-3b1a-4c58-0b53-0f4c1d0a7e11',
  ],
  ['datetime', z.toJSONSchema(z.iso.datetime()), '2028-02-29T10:00:00Z', '2026-02-29T10:00:00Z'],
  [
    'datetime with an offset',
    z.toJSONSchema(z.iso.datetime({ offset: true })),
    '2026-02-28T10:00:00+02:00',
    '2026-02-28T10:00:00',
  ],
  ['date', z.toJSONSchema(z.iso.date()), '2026-11-27', '2026-11-31'],
  ['duration', z.toJSONSchema(z.iso.duration()), 'P1DT2H', 'P'],
  ['cuid', z.toJSONSchema(z.cuid()), 'cjld2cjxh0000qzrmn831i7rn', 'xjld'],
  ['ipv4', z.toJSONSchema(z.ipv4()), '10.0.0.1', '10.0.0.256'],
  ['ipv6', z.toJSONSchema(z.ipv6()), '2001:db8::1', '2001:db8'],
  ['cidr', z.toJSONSchema(z.cidrv6()), '2001:db8::/32', '2001:db8::/129'],
  ['base64', z.toJSONSchema(z.base64()), 'YWJj', 'YW='],
  ['e164', z.toJSONSchema(z.e164()), '+4712345678', '4712345678'],
  ['hostname', z.toJSONSchema(z.hostname()), 'a.example', '-a.example'],
  ['emoji', z.toJSONSchema(z.emoji()), '😀👍🏽', 'a'],
  ['a template', z.toJSONSchema(z.templateLiteral(['v', z.number()])), 'v1.5', 'v'],
])('a schema of zod for %s is taken, and answers are checked against it', (_, schema, good, bad) => {
  const check = createThreadChecker();
  const step = { source: JSON.stringify({ properties: { a: schema } }) };
  expect(check({ ...step, text: null })).toEqual({ kind: 'fine' });
  expect(check({ ...step, text: JSON.stringify({ a: good }) })).toEqual({ kind: 'fine' });
  expect(check({ ...step, text: JSON.stringify({ a: bad }) })).toMatchObject({ kind: 'missed' });
});

describe('a limit of instructions', () => {
  const compile = (...patterns: string[]) =>
    patterns.map(createPatternCompiler({ maxInstructions: 1_000, backtracking: false }));

  it.each([
    ['ordinary patterns', ['^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$', '^\\d{3,5}$', '^(?:a|b){2,20}$']],
    ['one pattern many times', Array.from({ length: 100 }, () => 'a{100}')],
  ])('allows %s', (_, patterns) => {
    expect(compile(...patterns)).toHaveLength(patterns.length);
  });

  it.each([
    ['many repetitions', ['a{1000}']],
    ['many together', Array.from({ length: 10 }, (_, n) => `a{100}${n}`)],
    ['repetitions of a group', ['([a-z]{30}){30}']],
    ['repetitions of repetitions', ['(?:a{30}){1,30}']],
    ['open repetitions', ['(a?){999,}']],
    ['repetitions of a class that looks like the end of a group', ['(?:abcdefghijklm[](]){100}']],
    ['look-ahead', ['^(?!a)b']],
  ])('rejects %s', (_, patterns) => {
    expect(() => compile(...patterns)).toThrow(TooMuch);
  });

  it('counts steps for long texts, by the size of the pattern', () => {
    const [small, large] = compile('^a*$', '^(?:a?b?){50}c');
    expect(small!('a'.repeat(1_000), newRun(300))).toBe(true);
    expect(large!('c', newRun(300))).toBe(true);
    expect(() => large!('a'.repeat(1_000), newRun(300))).toThrow(TooMuch);
  });
});
