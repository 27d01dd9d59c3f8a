import { describe, expect, it } from 'vitest';
import { readResultLine } from './result-line.ts';

function read(value: unknown) {
  const found = readResultLine(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
  return found && [found.key, found.reply.status, JSON.parse(found.reply.body.toString())];
}

describe('a line of results', () => {
  it('carries status and body, as vLLM writes them', () => {
    const response = { status_code: 200, request_id: 'batch-1', body: { id: 'chatcmpl-1', choices: [] } };
    expect(read({ id: 'vllm-1', custom_id: 'a', response, error: null })).toEqual(['a', 200, response.body]);
  });

  it('carries the error of a line beside its status, in the body or alone', () => {
    const error = { message: 'too long', type: 'BadRequestError', code: 400 };
    const body = { error };
    expect(read({ custom_id: 'a', response: { status_code: 400, body }, error: null })).toEqual([
      'a',
      400,
      body,
    ]);
    expect(read({ custom_id: 'a', response: { status_code: 400 }, error })).toEqual(['a', 400, { error }]);
    expect(read({ custom_id: 'a', response: null, error })).toEqual(['a', 400, { error }]);
    expect(read({ custom_id: 'a', response: null, error: 'out of memory' })).toEqual([
      'a',
      500,
      { error: 'out of memory' },
    ]);
  });

  it('counts as a failure where it has neither body nor error', () => {
    expect(read({ custom_id: 'a' })?.slice(0, 2)).toEqual(['a', 500]);
    expect(read({ custom_id: 'a', response: { status_code: 'ok', body: { x: 1 } } })).toEqual([
      'a',
      200,
      { x: 1 },
    ]);
  });

  it('counts as a failure where an error comes with a status of success', () => {
    expect(read({ custom_id: 'a', response: { status_code: 200 }, error: { message: 'm' } })?.[1]).toBe(500);
  });

  it.each(['', '{', '[]', 'null', '{"custom_id":1}', '{"response":{}}'])('is nothing in %j', (text) => {
    expect(read(text)).toBeUndefined();
  });
});
