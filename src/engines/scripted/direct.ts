import { crc32 } from 'node:zlib';
import {
  moderationParts,
  type ModerationsRequest,
  type ModerationResult,
} from '../../wire/moderations/moderations.ts';
import { documentText } from '../../wire/rerank/rerank.ts';
import { scoredTexts } from '../../wire/score/score.ts';
import { splitTextInputs } from '../../wire/shared/text-inputs.ts';
import { directCalls } from '../direct-calls.ts';
import type { Engine, EngineCall } from '../engines.ts';
import { tokenize } from './answer.ts';

/** Takes the turn of a request, and then makes its answer. @param lastInput text that scripts read */
type Run = <T>(model: string, lastInput: string, call: EngineCall, answer: () => T) => Promise<T>;

/** Direct requests, whose answers depend on their texts alone. */
export function createScriptedDirect(run: Run): Engine['direct'] {
  return directCalls({
    embeddings({ value: { model, input, dimensions } }, call) {
      // A list of token IDs counts as a text of numbers.
      const inputs = splitTextInputs('input', input).map((each) => [each.input].flat().join(' '));
      return run(model, inputs.at(-1) ?? '', call, () => ({
        vectors: inputs.map((text) => embed(text, dimensions ?? 64)),
        promptTokens: countTokens(inputs),
      }));
    },

    rerank({ value: { model, query, documents } }, call) {
      const texts = documents.map(documentText);
      return run(model, query, call, () => ({
        ranked: texts
          .map((text, index) => ({ index, score: similarity(query, text) }))
          .toSorted((a, b) => b.score - a.score),
        promptTokens: texts.length * countTokens([query]) + countTokens(texts),
      }));
    },

    score({ value }, call) {
      const { first, second } = scoredTexts(value);
      const pairs = second.map((text, at) => [first[at] ?? first[0]!, text] as const);
      return run(value.model, second.at(-1)!, call, () => ({
        scores: pairs.map(([a, b]) => similarity(a, b)),
        promptTokens: countTokens(pairs.flat()),
      }));
    },

    moderations({ value }, call) {
      const texts = inputTexts(value);
      return run(value.model, texts.at(-1)!, call, () => ({
        results: texts.map(judge),
        promptTokens: countTokens(texts),
      }));
    },
  });
}

function countTokens(texts: readonly string[]): number {
  return texts.flatMap(tokenize).length;
}

/** A unit vector that depends on the text alone. */
function embed(text: string, dimensions: number): Float32Array {
  const seed = crc32(text) + 1;
  const values = Float32Array.from({ length: dimensions }, (_, i) => Math.sin(seed + i * i));
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

/** Share of the words of the first text that the second has, from 0 to 1. */
function similarity(first: string, second: string): number {
  const words = (text: string) => [...new Set(text.toLowerCase().match(/\w+/g))];
  const wanted = words(first);
  const found = words(second);
  return wanted.filter((word) => found.includes(word)).length / Math.max(1, wanted.length);
}

/** A text for each input: several parts are one. */
function inputTexts(request: ModerationsRequest): string[] {
  const texts = moderationParts(request).map((part) => (part.type === 'text' ? part.text : ''));
  return typeof request.input[0] === 'object' ? [texts.join(' ')] : texts;
}

/** Flags texts that name violence. */
function judge(text: string): ModerationResult {
  const violence = /\b(?:kill|murder|stab)\b/i.test(text);
  return {
    flagged: violence,
    categories: { harassment: false, violence },
    category_scores: { harassment: 0.01, violence: violence ? 0.99 : 0.01 },
  };
}
