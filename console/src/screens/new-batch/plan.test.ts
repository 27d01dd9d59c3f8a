import { describe, expect, it } from 'vitest';
import { ApiFailure } from '../../api/failure.ts';
import { type Estimate, partName, shiftLine, sumEstimates } from './plan.ts';

const estimate = (amount: string, used: number): { estimate: Estimate } => ({
  estimate: {
    object: 'batch.estimate',
    usage: { input_tokens: 10, output_tokens: 5 },
    exact_input: used === 0,
    cost: { amount, list_amount: amount },
    quota: { fits: used + 1 <= 2, limits: [{ name: 'open_batches', limit: 2, used, adds: 1 }] },
  },
});

describe('plan', () => {
  it.each([
    ['a.jsonl', 0, 1, 'a.jsonl'],
    ['a.jsonl', 1, 3, 'a (2 of 3).jsonl'],
    ['noext', 0, 2, 'noext (1 of 2)'],
    ['.hidden', 0, 2, '.hidden (1 of 2)'],
  ])('names part of %s', (name, at, of, expected) => {
    expect(partName(name, at, of)).toBe(expected);
  });

  it('shifts the line in a message of the server', () => {
    const failure = new ApiFailure('Line 3: no such model.', { status: 422, code: 'x', requestId: 'req_1' });
    expect(shiftLine(failure, 10)).toMatchObject({
      message: 'Line 13: no such model.',
      status: 422,
      requestId: 'req_1',
    });
  });

  it('sums amounts exactly, and names the limits that are exceeded', () => {
    const sums = sumEstimates([estimate('0.1', 0), estimate('0.2', 2)]);
    expect(sums).toMatchObject({ amount: '0.3', inputTokens: 20, outputTokens: 10, isExact: false });
    expect(sums.exceeded).toMatchObject([{ name: 'open_batches', used: 2 }]);
  });
});
