import { describe, expect, it } from 'vitest';
import { ApiFailure } from '../../api/failure.ts';
import {
  type Estimate,
  expectedEnd,
  inWindow,
  partName,
  shiftLine,
  sumEstimates,
  windowOffers,
} from './plan.ts';

const estimate = (amount: string, used: number): { estimate: Estimate } => ({
  estimate: {
    object: 'batch.estimate',
    completion_window: '24h',
    windows: [],
    usage: { input_tokens: 10, output_tokens: 5 },
    exact_input: used === 0,
    cost: { amount, list_amount: amount },
    forecast: { eta: null, tokens_ahead: 0, at_risk: false, waiting: null },
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

  it('offers each window at the price of all parts, and shows what the chosen one means', () => {
    const quote = (name: string, amount: string, met: boolean | null) => ({
      completion_window: name,
      cost: { amount, list_amount: '1' },
      can_be_met: met,
      eta: met === null ? null : '2026-11-28T10:00:00Z',
      tokens_ahead: 7,
    });
    const part = (...windows: Estimate['windows']) => ({
      estimate: { ...estimate('0', 0).estimate, windows },
    });
    const one = part(quote('1h', '0.8', false), quote('24h', '0.5', true), quote('7d', '0.4', true));
    const two = part(quote('1h', '0.1', true), quote('24h', '0.2', true), quote('7d', '0.2', null));
    expect(windowOffers([one, two])).toEqual([
      { name: '1h', amount: '0.9', canBeMet: false },
      { name: '24h', amount: '0.7', canBeMet: true },
      { name: '7d', amount: '0.6', canBeMet: null },
    ]);
    const shown = inWindow(one, '1h');
    expect(sumEstimates([shown])).toMatchObject({ amount: '0.8', listAmount: '1' });
    expect(expectedEnd([shown])).toMatchObject({
      eta: Date.UTC(2026, 10, 28, 10),
      isAtRisk: true,
      tokensAhead: 7,
    });
  });

  it('expects the end of the latest part, where all are known', () => {
    const part = (forecast: Partial<Estimate['forecast']>) => {
      const { estimate: one } = estimate('0', 0);
      return { estimate: { ...one, forecast: { ...one.forecast, ...forecast } } };
    };
    const early = part({ eta: '2026-11-28T10:00:00Z', tokens_ahead: 5 });
    const late = part({ eta: '2026-11-28T11:00:00Z', tokens_ahead: 2, at_risk: true });
    const eleven = Date.UTC(2026, 10, 28, 11);
    const known = { isEarliest: false, tokensAhead: 2, isAtRisk: true, reason: null };
    expect(expectedEnd([late])).toEqual({ ...known, eta: eleven });
    expect(expectedEnd([early, late])).toEqual({ ...known, eta: eleven, isEarliest: true, tokensAhead: 5 });
    expect(expectedEnd([late, part({})])).toMatchObject({
      eta: null,
      reason: 'No request of the model was measured yet.',
    });
    expect(expectedEnd([part({ waiting: { message: 'Drained.' } })]).reason).toBe('Drained.');
  });
});
