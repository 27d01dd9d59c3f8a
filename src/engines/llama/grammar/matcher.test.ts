import { describe, expect, test } from 'vitest';
import { UnsatisfiableGrammar, analyse } from './analysis.ts';
import { toGbnf } from './gbnf.ts';
import { SchemaTooLarge } from '../../schemas/keywords.ts';
import { type GrammarBuilder, type RuleElement, createGrammarBuilder } from './grammar.ts';
import { type Matcher, createMatcher } from './matcher.ts';

function matcherFor(build: (b: GrammarBuilder) => RuleElement): Matcher {
  const b = createGrammarBuilder();
  return createMatcher(analyse(b.build(build(b))));
}

/** `()`-nests of any depth, any number in a row. */
const nests = (b: GrammarBuilder): RuleElement => {
  const { element, define } = b.declare();
  define([[], [...b.literal('('), element, ...b.literal(')'), element]]);
  return element;
};

describe('the matcher', () => {
  test('follows a text piece by piece and keeps old states usable', () => {
    const matcher = matcherFor((b) => b.rule([b.literal('cat'), b.literal('cow')]));
    const afterC = matcher.advance(matcher.start, 'c')!;
    expect(matcher.advance(afterC, 'x')).toBeUndefined();
    expect(matcher.advance(afterC, 'at')!.complete).toBe(true);
    expect(matcher.advance(afterC, 'ow')!.complete).toBe(true);
    expect(matcher.advance(afterC, 'ats')).toBeUndefined();
  });

  test('finds the shortest completion and its bytes', () => {
    const matcher = matcherFor(nests);
    const state = matcher.advance(matcher.start, '(()(')!;
    expect(matcher.closing(state)).toBe('))');
    expect(matcher.closingBytes(state)).toBe(2);
    const wide = matcherFor((b) => b.rule([[...b.literal('€'), b.chars([0x1f600, 0x1f610])]]));
    expect(wide.closingBytes(wide.start)).toBe(7);
  });

  test('counts repeats', () => {
    const matcher = matcherFor((b) => b.rule([[b.repeat(b.literal('a'), 2, 4), ...b.literal('!')]]));
    const accepts = (text: string): boolean => matcher.advance(matcher.start, text)?.complete ?? false;
    expect(['a!', 'aa!', 'aaa!', 'aaaa!', 'aaaaa!'].map(accepts)).toEqual([false, true, true, true, false]);
  });

  test('does not multiply readings of the same text', () => {
    // Every level can be read in two ways: 2^200 readings, of which equal ones are one.
    const matcher = matcherFor((b) => {
      const { element, define } = b.declare();
      define([
        b.literal('x'),
        [...b.literal('['), element, ...b.literal(']')],
        [...b.literal('['), element, ...b.literal(']')],
      ]);
      return element;
    });
    const state = matcher.advance(matcher.start, '['.repeat(200));
    expect(state!.stacks.length).toBeLessThan(10);
    expect(matcher.closing(state!)).toBe(`x${']'.repeat(200)}`);
  });

  test('gives up on a grammar whose readings multiply', () => {
    const matcher = matcherFor((b) => {
      const { element, define } = b.declare();
      define([
        b.literal('x'),
        [...b.literal('a'), element, ...b.literal('p')],
        [...b.literal('a'), element, ...b.literal('q')],
      ]);
      return element;
    });
    expect(matcher.advance(matcher.start, 'a'.repeat(8))).toBeDefined();
    expect(matcher.advance(matcher.start, 'a'.repeat(40))).toBeUndefined();
  });
});

describe('analysis', () => {
  const analysed = (build: (b: GrammarBuilder) => RuleElement) => () => matcherFor(build);

  test('rejects a grammar without finite texts', () => {
    const endless = (b: GrammarBuilder): RuleElement => {
      const { element, define } = b.declare();
      define([[...b.literal('a'), element]]);
      return element;
    };
    expect(analysed(endless)).toThrow(UnsatisfiableGrammar);
    expect(analysed((b) => b.rule([]))).toThrow(UnsatisfiableGrammar);
  });

  test('drops infinite alternatives', () => {
    const matcher = matcherFor((b) => b.rule([b.literal('a'), [...b.literal('b'), b.rule([])]]));
    expect(matcher.advance(matcher.start, 'b')).toBeUndefined();
  });

  test('grammars are limited in size', () => {
    const b = createGrammarBuilder();
    expect(() => b.repeat(b.literal('a'), 0, 100_000)).toThrow(SchemaTooLarge);
  });
});

test('GBNF has the reachable rules and escapes reserved characters', () => {
  const b = createGrammarBuilder();
  b.rule([b.literal('unused')]);
  const inner = b.rule([[], [b.chars([0x61, 0x7a], [0x5d, 0x5d])]]);
  const root = b.rule([[...b.literal('"ok\\é😀'), inner]]);
  const { grammar } = analyse(b.build(root));
  expect(toGbnf(grammar)).toBe(
    'root ::= r2\nr2 ::= [\\x22] [o] [k] [\\x5C] [\\xE9] [\\U0001F600] r1\nr1 ::= "" | [a-z\\x5D]\n',
  );
});
