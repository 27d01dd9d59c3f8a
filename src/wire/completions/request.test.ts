import { describe, expect, it } from 'vitest';
import { logprobsWriter } from './logprobs.ts';
import { checkCompletionsRequest, estimateTextPrompt, parseCompletionsRequest } from './request.ts';

const base = { model: 'm', prompt: 'a' };
const faultsOf = (more: object): string[] =>
  checkCompletionsRequest({ ...base, ...more }).map(({ param, message }) => `${param ?? ''}: ${message}`);

describe('a completions request', () => {
  it.each([['text'], [['a', 'b']], [[1, 2, 3]], [[[1, 2], [3]]]])('accepts the prompt %j', (prompt) => {
    const text = JSON.stringify({ model: 'm', prompt, user: 'u' });
    expect(parseCompletionsRequest(text)).toMatchObject({ value: JSON.parse(text), text });
  });

  it.each<[object, string]>([
    [{ prompt: '' }, 'prompt: must not be empty'],
    [{ prompt: [[]] }, 'prompt[0]: must not be empty'],
    [{ prompt: [[1], 'a'] }, 'prompt[1]: expected an array of token ids like the items before it, got "a"'],
    [{ n: 2, best_of: 1 }, 'best_of: expected at least n, which is 2, got 1'],
    [{ best_of: 2, stream: true }, 'best_of: cannot be streamed: the best answers are known only at the end'],
    [{ prompt: Array(1_025).fill('a'), n: 2 }, 'n: makes 2050 answers; at most 2048 are allowed'],
    [{ max_tokens: 0 }, 'max_tokens: expected at least 1, or 0 with echo and logprobs, got 0'],
    [{ max_tokens: 0, echo: true }, 'max_tokens: expected at least 1, or 0 with echo and logprobs, got 0'],
    [{ logprobs: true }, 'logprobs: expected an integer, got true'],
  ])('refuses %j', (more, expected) => {
    expect(faultsOf(more)).toEqual([expected]);
  });

  it('counts token ids exactly, and estimates texts', () => {
    expect(estimateTextPrompt({ prompt: [[1, 2], [3]] })).toBe(3);
    expect(estimateTextPrompt({ prompt: ['12345678', '1234'] })).toBe(3);
  });
});

describe('the log probabilities of completions', () => {
  it('continue across pieces, in characters of the text', () => {
    const write = logprobsWriter();
    const top = [
      { token: 'x', logprob: -1 },
      { token: 'x', logprob: -9 },
    ];
    expect(write([{ token: '🙂', logprob: null, top_logprobs: [] }])).toEqual({
      tokens: ['🙂'],
      token_logprobs: [null],
      top_logprobs: [null],
      text_offset: [0],
    });
    // The likeliest of those that look alike, and the one that came beside them.
    expect(
      write([
        { token: '�', logprob: -2, top_logprobs: top, text: '' },
        { token: '�', logprob: -3, top_logprobs: [], text: 'ä' },
        { token: '</s>', logprob: -4, top_logprobs: [], text: '' },
      ]),
    ).toEqual({
      tokens: ['�', '�', '</s>'],
      token_logprobs: [-2, -3, -4],
      top_logprobs: [{ x: -1, '�': -2 }, { '�': -3 }, { '</s>': -4 }],
      text_offset: [1, 1, 2],
    });
  });
});
