import { expect, it } from 'vitest';
import { ApiError } from '../../core/errors.ts';
import { noUsage } from '../../core/usage.ts';
import { failedResult, outputResult } from './line-result.ts';

it('holds no more memory than a result is long, however many wait to be recorded', () => {
  const answer = { body: { text: 'Zwölf' }, usage: noUsage };
  const batch = { id: 'batch_1', prices: {}, priceFactor: 1, endpoint: '/v1/chat/completions' } as const;
  const error = new ApiError('upstream_timeout', 'too slow');
  for (const { body } of [
    outputResult(batch, { line: 0, model: 'm', attempts: 1 }, 'a', answer),
    failedResult(batch, { line: 1, model: 'm', attempts: 1 }, 'b', error),
  ]) {
    expect(JSON.parse(body.toString())).toHaveProperty('custom_id');
    expect(body.buffer.byteLength).toBe(body.length);
  }
});
