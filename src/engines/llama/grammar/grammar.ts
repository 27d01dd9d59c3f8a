import { SchemaTooLarge } from '../../schemas/keywords.ts';

/** Context-free grammar over code points. The matcher here and, as GBNF, llama.cpp read the same rules, so both agree. */
export interface Grammar {
  /** Alternatives of each rule. A rule without alternatives matches nothing. */
  readonly rules: readonly (readonly Alternative[])[];
  readonly root: number;
}

export type Alternative = readonly Element[];
export type Element = CharElement | RuleElement;

/** One code point of inclusive ranges. */
export interface CharElement {
  readonly ranges: readonly CharRange[];
}

export interface RuleElement {
  readonly rule: number;
}

export type CharRange = readonly [low: number, high: number];

export type GrammarBuilder = ReturnType<typeof createGrammarBuilder>;

/** Elements in all rules; llama.cpp copies them for every request. */
const maxElements = 50_000;

export function createGrammarBuilder() {
  const rules: Alternative[][] = [];
  const letters = new Map<number, CharElement>();
  let elements = 0;

  function set(index: number, alternatives: readonly Alternative[]): void {
    for (const alternative of alternatives) elements += alternative.length + 1;
    if (elements > maxElements)
      throw new SchemaTooLarge('unrolled, it needs too many rules; lower its lengths and item counts');
    rules[index] = [...alternatives];
  }

  function rule(alternatives: readonly Alternative[]): RuleElement {
    const index = rules.length;
    rules.push([]);
    set(index, alternatives);
    return { rule: index };
  }

  function literal(text: string): CharElement[] {
    return Array.from(text, (character) => letter(character.codePointAt(0)!));
  }

  /** Declares a rule that is defined later; without a definition it matches nothing. */
  function declare() {
    const element = rule([]);
    const define = (alternatives: readonly Alternative[]): void => set(element.rule, alternatives);
    return { element, define };
  }

  function letter(codePoint: number): CharElement {
    let element = letters.get(codePoint);
    if (!element) letters.set(codePoint, (element = { ranges: [[codePoint, codePoint]] }));
    return element;
  }

  /** Repeats `what`; `max` may be Infinity. A chain of short rules, because llama.cpp copies the stack at every character. */
  function repeat(what: Alternative, min: number, max: number): RuleElement {
    let tail: RuleElement;
    if (max === Infinity) {
      const { element, define } = declare();
      define([[], [...what, element]]);
      tail = element;
    } else {
      tail = rule([[]]);
      for (let i = min; i < max; i++) tail = rule([[], [...what, tail]]);
    }
    for (let i = 0; i < min; i++) tail = rule([[...what, tail]]);
    return tail;
  }

  return {
    rule,
    declare,
    literal,
    sequence: (...parts: readonly (string | Element | Alternative)[]): Alternative =>
      parts.flatMap((part) => (typeof part === 'string' ? literal(part) : part)),
    chars: (...ranges: CharRange[]): CharElement => ({ ranges }),
    optional: (what: Alternative): RuleElement => rule([[], what]),
    repeat,
    build: (root: RuleElement): Grammar => ({ rules, root: root.rule }),
  };
}

export function isChar(element: Element): element is CharElement {
  return 'ranges' in element;
}
