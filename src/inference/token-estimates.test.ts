import { describe, expect, it } from 'vitest';
import { chatTokens, completionTokens } from './token-estimates.ts';

const messages = [{ role: 'user' as const, content: 'x'.repeat(4_000) }];
const chat = (more: object = {}) => ({ model: 'm', messages, ...more });
const prompt = chatTokens(chat(), null).inputTokens;
const unlimited = 2 ** 31 - 1;

describe('tokens that a chat request reserves', () => {
  it.each([
    ['its maximum', { max_tokens: 2_000 }, 8_192, 2_000],
    ['1,024 without a maximum', {}, 8_192, 1_024],
    ['what the context leaves beside the prompt', { max_tokens: unlimited }, 8_192, 8_192 - prompt],
    ['that for each answer', { max_tokens: unlimited, n: 3 }, 8_192, 3 * (8_192 - prompt)],
    ['one token beside a prompt that fills the context', { max_tokens: unlimited }, 100, 1],
    ['32,768 where the context is unknown', { max_tokens: unlimited }, null, 32_768],
    ['the maximum of reasoning and answer', { max_completion_tokens: unlimited }, undefined, 32_768],
  ])('are %s', (_, more, context, outputTokens) => {
    expect(chatTokens(chat(more), context)).toEqual({ inputTokens: prompt, outputTokens });
  });
});

it('are shared with the prompt of each text completion', () => {
  const request = { model: 'm', prompt: ['x'.repeat(400), 'y'.repeat(400)], max_tokens: unlimited, n: 2 };
  expect(completionTokens(request, 1_000)).toEqual({ inputTokens: 200, outputTokens: 4 * 900 });
  expect(completionTokens({ ...request, max_tokens: null }, 1_000).outputTokens).toBe(4 * 16);
});
