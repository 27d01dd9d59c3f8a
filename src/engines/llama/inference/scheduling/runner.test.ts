import type { LlamaContextSequence } from 'node-llama-cpp';
import { expect, test } from 'vitest';
import { createBatchGate } from './batch-gate.ts';
import { createRunner, type SlotRequest } from './runner.ts';

const request = (signal = new AbortController().signal): SlotRequest => ({
  priority: 'batch',
  prompt: [1, 2],
  prefix: '',
  signal,
});

test('a request aborted while it waits rejects, and its slot goes to the next', async () => {
  const sequence = { contextTokens: [] as number[] } as LlamaContextSequence;
  const runner = createRunner([sequence], createBatchGate(8));
  const first = Promise.withResolvers<void>();
  const running = runner.run(request(), () => first.promise);
  const leaving = new AbortController();
  const begun: string[] = [];
  const left = runner.run(request(leaving.signal), () => Promise.resolve(begun.push('left')));
  const next = runner.run(request(), () => Promise.resolve(begun.push('next')));
  left.catch(() => {});
  leaving.abort(new Error('gone'));
  expect(begun).toEqual([]);
  first.resolve();
  await Promise.all([running, next]);
  expect(begun).toEqual(['next']);
  await expect(left).rejects.toThrow('gone');
});

test('an interactive request passes batch requests that wait longer', async () => {
  const sequence = { contextTokens: [] as number[] } as LlamaContextSequence;
  const runner = createRunner([sequence], createBatchGate(8));
  const first = Promise.withResolvers<void>();
  const begun: string[] = [];
  const running = [
    runner.run(request(), () => first.promise),
    runner.run(request(), async () => void begun.push('line')),
    runner.run({ ...request(), priority: 'interactive' }, async () => void begun.push('interactive')),
  ];
  first.resolve();
  await Promise.all(running);
  expect(begun).toEqual(['interactive', 'line']);
});
