import { expect, test } from 'vitest';
import { messageOf } from './error-summary.ts';

const of = (value: unknown) =>
  messageOf(new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value)));

test('the message of a line is ours', () => {
  const response = { body: { error: { message: 'the engine' } } };
  expect(of({ response, error: { message: 'ours' } })).toBe('ours');
});

test('else it is the one of the engine', () => {
  expect(of({ response: { status_code: 400, body: { error: { message: 'too long' } } }, error: null })).toBe(
    'too long',
  );
});

test('a long one is cut', () => {
  expect(of({ error: { message: 'x'.repeat(1_000) } })).toBe('x'.repeat(300));
});

test.each(
  [
    [
      '',
      'not JSON at all',
      '[]',
      'null',
      '7',
      '{"error":"text"}',
      '{"error":{"message":7}}',
      '{"response":{"body":null}}',
    ],
  ].flat(),
)('without any there is none: %s', (line) => {
  expect(of(line)).toBe('');
});
