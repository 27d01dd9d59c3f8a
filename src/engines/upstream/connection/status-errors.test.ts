import { describe, expect, it } from 'vitest';
import { llamaServer } from '../flavors/self-hosted.ts';
import { scrub } from './scrub.ts';
import { errorForStatus, readError } from './status-errors.ts';

describe('readError', () => {
  it.each([
    ['{"error":{"message":"no","code":"bad","type":"t"}}', { message: 'no', code: 'bad', type: 't' }],
    ['{"error":"no"}', { message: 'no', code: '', type: '' }],
    ['{"message":"no","code":400}', { message: 'no', code: '400', type: '' }],
    ['{"detail":"no"}', { message: 'no', code: '', type: '' }],
    [
      '{"detail":[{"loc":["body","n"],"msg":"too big"},{"msg":"b"}]}',
      { message: 'body.n: too big; b', code: '', type: '' },
    ],
    ['[{"error":{"message":"no","code":400}}]', { message: 'no', code: '400', type: '' }],
    ['[{"loc":["body"],"msg":"no"}]', { message: 'body: no', code: '', type: '' }],
    ['"no"', { message: 'no', code: '', type: '' }],
    ['plain words', { message: 'plain words', code: '', type: '' }],
    ['<html><h1>502</h1></html>', { message: '', code: '', type: '' }],
    ['null', { message: '', code: '', type: '' }],
    ['', { message: '', code: '', type: '' }],
  ])('%s', (text, expected) => {
    expect(readError(text)).toEqual(expected);
  });
});

it.each([
  ["This model's maximum context length is 8192 tokens. However, you requested 9000"],
  ['the request exceeds the available context size (4096 tokens), try increasing it'],
  ['prompt is too long: 200000 tokens > 128000 maximum'],
])('recognises a prompt that does not fit: %s', (message) => {
  const text = JSON.stringify({ error: { message } });
  const error = errorForStatus(
    { status: 400, headers: {}, text },
    { now: 0, secrets: [], logMessage: () => {} },
  );
  expect(error.code).toBe('context_length_exceeded');
  expect(error.message).toContain(message.slice(0, 30));
});

it('blames the request for output that llama-server cannot parse', () => {
  const message = 'The model produced output that does not match the expected peg-native format';
  const text = JSON.stringify({ error: { code: 500, message, type: 'server_error' } });
  const context = { now: 0, secrets: [], logMessage: () => {}, failures: llamaServer.failures };
  const error = errorForStatus({ status: 500, headers: {}, text }, context);
  expect(error).toMatchObject({ code: 'request_refused', message: expect.stringContaining(message) });
});

it('does not mistake every 404 for a missing model', () => {
  const error = errorForStatus(
    { status: 404, headers: {}, text: 'Not Found' },
    { now: 0, secrets: [], logMessage: () => {} },
  );
  expect(error.code).toBe('upstream_error');
});

it('does not mistake every missing chat model for a server that only embeds', () => {
  const error = (message: string) => {
    const text = JSON.stringify({ error: { message } });
    return errorForStatus({ status: 500, headers: {}, text }, { now: 0, secrets: [], logMessage: () => {} });
  };
  for (const lack of ['chat templates', 'completions with tools'])
    expect(error(`This server does not support ${lack}`).code).toBe('upstream_error');
});

it.each([
  ['The model produced output that does not match the expected peg-native format', true],
  ['The model produced output that does not match the expected peg-simple format', true],
  ['Failed to parse input at pos 12: {"city', true],
  ['Something that does not match the expected peg-native format', false],
])('blames the request for an answer that its server could not read: %s', (message, isOfRequest) => {
  const text = JSON.stringify({ error: { code: 500, message, type: 'server_error' } });
  const error = errorForStatus(
    { status: 500, headers: {}, text },
    { now: 0, secrets: [], logMessage: () => {} },
  );
  expect(error.blame.scope).toBe(isOfRequest ? 'request' : 'replica');
  expect([error.code, error.message.includes(message)]).toEqual(
    isOfRequest ? ['invalid_upstream_response', true] : ['upstream_error', false],
  );
});

describe('messages of a server that are passed on', () => {
  const key = 'sk-live-0123456789abcdef0123456789abcdef';
  const words = `top_p is wrong, says ${key.slice(0, 20)}**** at /usr/lib/python3/site-packages/vllm/engine.py`;
  const answered = (status: number) => {
    const noted: [number, string][] = [];
    const text = JSON.stringify({ error: { message: words } });
    const logMessage = (...each: [number, string]) => void noted.push(each);
    const { message } = errorForStatus({ status, headers: {}, text }, { now: 0, secrets: [key], logMessage });
    return { message, noted };
  };
  const clean = 'top_p is wrong, says [removed]**** at [path]';

  it.each([400, 413, 422])('%i: all but secrets', (status) => {
    const { message, noted } = answered(status);
    expect(message).toContain(`(status ${status}): ${clean}`);
    expect(noted).toEqual([]);
  });

  it.each([301, 401, 402, 403, 404, 405, 408, 409, 415, 429, 500, 501, 502, 503, 504, 529])(
    '%i: nothing; the log has them',
    (status) => {
      const { message, noted } = answered(status);
      expect(message).toMatch(new RegExp(`\\(status ${status}\\)\\.$`));
      expect(noted).toEqual([[status, clean]]);
    },
  );
});

describe('scrub', () => {
  it('removes addresses and keys, and keeps the sentence', () => {
    const text =
      'POST https://gpu-1.internal:8000/v1 with sk-proj-abcdef123456 failed on GPU-1.internal: bad "seed"';
    expect(scrub(text, ['gpu-1.internal'])).toBe(
      'POST [address] with [removed] failed on [removed]: bad "seed"',
    );
  });

  it('removes any long part of a secret before other edits', () => {
    const secret = 'corporate/key+of-the-upstream=0123456789';
    for (let from = 0; from + 8 <= secret.length; from++) {
      const part = secret.slice(from, from + 8);
      expect(scrub(`got <${part}> \u0130 and ${part.toUpperCase()}.`, [secret])).toBe(
        'got <[removed]> \u0130 and [removed].',
      );
    }
    expect(scrub(`${secret}${secret} x`, [secret])).toBe('[removed] x');
    expect(scrub(`at https://${secret}/v1`, [secret])).not.toContain('upstream');
    expect(scrub('the short key', ['short'])).toBe('the [removed] key');
  });

  it('removes paths and tracebacks, but keeps pointers into a schema', () => {
    expect(
      scrub(
        'bad /properties/a/type in C:\\app\\x.py: Traceback (most recent call last):\n File "/a.py", line 1',
      ),
    ).toBe('bad /properties/a/type in [path]: [traceback]');
  });

  it('returns one line of at most 1,000 characters', () => {
    const clean = scrub(`a\n\tb\u0000c ${'long '.repeat(1_000_000)}`, ['secret-upstream-key']);
    expect(clean.startsWith('a b c long')).toBe(true);
    expect(clean.length).toBeLessThanOrEqual(1003);
  });
});
