import { describe, expect, it } from 'vitest';
import { flavors } from '../../core/flavor.ts';
import { flavorTraits } from './flavors.ts';
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
  const error = errorForStatus({ status: 400, headers: {}, text }, { now: 0, secrets: [] });
  expect(error.code).toBe('context_length_exceeded');
  expect(error.message).toContain(message.slice(0, 30));
});

it('does not take every 404 for a missing model', () => {
  const error = errorForStatus({ status: 404, headers: {}, text: 'Not Found' }, { now: 0, secrets: [] });
  expect(error.code).toBe('upstream_error');
});

describe('scrub', () => {
  it('takes out addresses and keys, and keeps the sentence', () => {
    const text =
      'POST https://gpu-1.internal:8000/v1 with sk-proj-abcdef123456 failed on gpu-1.internal: bad "seed"';
    expect(scrub(text, ['gpu-1.internal'])).toBe(
      'POST [address] with [removed] failed on [removed]: bad "seed"',
    );
  });

  it('is one line of at most a thousand characters', () => {
    const clean = scrub(`a\n\tb\u0000c ${'long '.repeat(1000)}`);
    expect(clean.startsWith('a b c long')).toBe(true);
    expect(clean.length).toBeLessThanOrEqual(1003);
  });
});

it.each(flavors)('%s gives a reason for each of its traits', (flavor) => {
  for (const trait of Object.values(flavorTraits[flavor])) expect(trait.reason).not.toBe('');
});
