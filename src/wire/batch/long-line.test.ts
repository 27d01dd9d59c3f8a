import { expect, it } from 'vitest';
import type { BatchEndpoint } from '../../core/batch.ts';
import { ApiError } from '../../core/errors.ts';
import type { PreparedChat } from '../prepared/prepared-request.ts';
import type { ChatResponse } from '../chat/chat.ts';
import { LongLine } from './long-line.ts';
import { readLine } from './read-line.ts';

const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };

/** Bodies of each format, and a place in the chat that they come to. */
const formats: [url: BatchEndpoint, body: (text: string) => object, place: string][] = [
  [
    '/v1/chat/completions',
    (content) => ({
      messages: [{ role: 'user', content }],
      functions: [{ name: 'search', parameters: schema }],
    }),
    'tools[0].function.parameters',
  ],
  [
    '/v1/messages',
    (content) => ({
      max_tokens: 9,
      messages: [{ role: 'user', content }],
      tools: [{ name: 'search', input_schema: schema }],
    }),
    'max_completion_tokens',
  ],
  [
    '/v1/responses',
    (input) => ({ input, max_output_tokens: 9, metadata: { a: 'b' } }),
    'max_completion_tokens',
  ],
];

const answer: ChatResponse = {
  id: 'chatcmpl_1',
  object: 'chat.completion',
  created: 1_790_000_000,
  model: 'm',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Yes.', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: 9,
    completion_tokens: 1,
    total_tokens: 10,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  },
};

function lineOf(url: BatchEndpoint, body: object): PreparedChat {
  const line = { custom_id: 'a', method: 'POST', url, body: { model: 'm', ...body } };
  const { prepared: asked } = readLine(Buffer.from(JSON.stringify(line)));
  if (asked.kind !== 'chat') throw new Error(asked.kind);
  return asked;
}

function toldOf(asked: PreparedChat, place: string) {
  const error = asked.mapError(
    new ApiError('validation_error', `${place}: no`, { param: place }),
  ) as ApiError;
  return { answer: asked.present(answer), place: error.param, message: error.message };
}

it.each(formats)('of %s gives the same answer after its release', (url, bodyOf, place) => {
  const short = lineOf(url, bodyOf('Say yes.'));
  const long = lineOf(url, bodyOf('Say yes.'.repeat(5_000)));
  expect(short).not.toBeInstanceOf(LongLine);
  expect(long).toBeInstanceOf(LongLine);
  for (const ask of [() => long.request(), () => long.native?.request()]) {
    const request = ask();
    if (!request) continue;
    const { value, text } = request;
    request.release!();
    expect(request.value).not.toBe(value);
    expect(request).toMatchObject({ value, text });
    request.release!();
    expect(toldOf(long, place)).toEqual(toldOf(short, place));
  }
  expect(toldOf(long, place).place).not.toBe(place);
});

it('is forwarded unchanged if it is a chat request', () => {
  const plain = lineOf('/v1/chat/completions', {
    messages: [{ role: 'user', content: 'Hello? '.repeat(9_000) }],
  });
  expect(plain).not.toBeInstanceOf(LongLine);
  expect(plain.request().release).toBeTypeOf('function');
});
