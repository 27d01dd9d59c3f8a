import { type Analysed, analyse } from '../../../src/engines/llama/grammar/analysis.ts';
import { createCloser } from '../../../src/engines/llama/grammar/closer.ts';
import { createGrammarBuilder } from '../../../src/engines/llama/grammar/grammar.ts';
import { schemaRule } from '../../../src/engines/llama/grammar/json-schema.ts';
import { createMatcher } from '../../../src/engines/llama/grammar/matcher.ts';
import type { CharElement } from '../../../src/engines/llama/grammar/grammar.ts';

/** Numbers in [0, 1) that repeat for each seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function compile(schema: unknown): Analysed {
  const b = createGrammarBuilder();
  return analyse(b.build(b.rule([[schemaRule(b, schema)]])));
}

export const bytes = (text: string): number => Buffer.byteLength(text);

/**
 * Stands in for a random model with one token per byte: writes any allowed character, and ends at random where it may.
 * Returns the text under a limit of `budget` tokens.
 */
export function randomAnswer(analysed: Analysed, budget: number, random: () => number): string {
  const matcher = createMatcher(analysed);
  const closer = createCloser(matcher, bytes);
  let state = matcher.start;
  let text = '';
  while (!closer.isExhausted && bytes(text) < budget) {
    if (closer.isComplete && random() < 0.3) return text;
    const stack = state.stacks[Math.floor(random() * state.stacks.length)]!;
    const character = anyCharacter(stack.element as CharElement, random);
    if (!closer.accept(character, budget - bytes(text + character))) break;
    text += character;
    state = matcher.advance(state, character)!;
  }
  return text + closer.closing().text;
}

function anyCharacter({ ranges }: CharElement, random: () => number): string {
  const [low, high] = ranges[Math.floor(random() * ranges.length)]!;
  return String.fromCodePoint(low + Math.floor(random() * (high - low + 1)));
}
