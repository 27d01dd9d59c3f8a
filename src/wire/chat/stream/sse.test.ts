import { expect, it } from 'vitest';
import { chatChunk, usage } from '../../../../test/support/fake-engine.ts';
import { chatEventWriter } from './sse.ts';

it('writes a chunk like JSON.stringify, for any model name', () => {
  const chunk = { ...chatChunk('a "word"\n', 'stop'), model: 'a "model"' };
  const write = chatEventWriter(chunk);
  expect(write(chunk)).toBe(`data: ${JSON.stringify(chunk)}\n\n`);
  expect(write({ ...chunk, usage: null })).toBe(`data: ${JSON.stringify({ ...chunk, usage: null })}\n\n`);
  const last = { ...chunk, choices: [], usage: usage(1, 2) };
  expect(write(last)).toBe(`data: ${JSON.stringify(last)}\n\n`);
});

it('contains none of the other line breaks of httpx', () => {
  const chunk = { ...chatChunk('a\u2028b\u0085c', 'stop'), model: 'm\u2029' };
  const event = chatEventWriter(chunk)(chunk);
  expect(event).not.toMatch(/[\u0085\u2028\u2029]/);
  expect(JSON.parse(event.slice('data: '.length))).toEqual(chunk);
});
