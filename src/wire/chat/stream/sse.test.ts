import { expect, it } from 'vitest';
import { chatChunk, usage } from '../../../../test/support/fake-engine.ts';
import { chatEventWriter } from './sse.ts';

it('writes a chunk as JSON would, whatever its model is called', () => {
  const chunk = { ...chatChunk('a "word"\n', 'stop'), model: 'a "model" \u2028' };
  const write = chatEventWriter(chunk);
  expect(write(chunk)).toBe(`data: ${JSON.stringify(chunk)}\n\n`);
  expect(write({ ...chunk, usage: null })).toBe(`data: ${JSON.stringify({ ...chunk, usage: null })}\n\n`);
  const last = { ...chunk, choices: [], usage: usage(1, 2) };
  expect(write(last)).toBe(`data: ${JSON.stringify(last)}\n\n`);
});
