import { expect, test } from 'vitest';
import { createAnswerText } from './answer-text.ts';

/** Returns the text of raw output, and the tokens reported with it. */
function raw(pieces: readonly string[], stops: readonly string[] = []) {
  const told = { text: '', tokens: [] as string[] };
  const answer = createAnswerText({
    family: null,
    stops,
    onDelta({ content }, certain = []) {
      told.text += content ?? '';
      told.tokens.push(...certain.map(({ text }) => text));
    },
  });
  for (const text of pieces)
    if (answer.push(text, { token: text, logprob: -1, bytes: null, top_logprobs: [] })) break;
  answer.end();
  return told;
}

test('a raw text reports all tokens, including the one that ended it and those without a text', () => {
  expect(raw(['a', '', 'b', ''])).toEqual({ text: 'ab', tokens: ['a', '', 'b', ''] });
});

test('a raw text cut at a stop string reports no token after the cut', () => {
  expect(raw(['a', 'bs', 'to', 'p'], ['stop'])).toEqual({ text: 'ab', tokens: ['a', 'bs'] });
});
