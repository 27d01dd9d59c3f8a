import { describe, expect, it } from 'vitest';
import type { BatchHistory } from '../../api/batches.ts';
import { partOf, ratesOf } from './rates.ts';
import { timelineOf } from './timeline-entries.ts';

const point = (second: number, completed: number, failed = 0, tokens = 0) => ({
  at: new Date(second * 1_000).toISOString(),
  completed,
  failed,
  input_tokens: tokens,
  output_tokens: tokens,
});

describe('the curves of a batch', () => {
  it('are the rates between the points', () => {
    expect(ratesOf([point(0, 0), point(30, 10, 1, 30), point(90, 10, 1, 30)])).toEqual({
      at: [0, 30, 90],
      donePerMinute: [20, 20, 0],
      failedPerMinute: [2, 2, 0],
      tokensPerSecond: [2, 2, 0],
    });
  });

  it('between two instants keep the points of both', () => {
    const rates = ratesOf([point(0, 0), point(30, 10, 1, 30), point(90, 10, 1, 30), point(99, 10)]);
    expect(partOf(rates, 30, 90)).toEqual({
      at: [30, 90],
      donePerMinute: [20, 0],
      failedPerMinute: [2, 0],
      tokensPerSecond: [2, 0],
    });
  });

  it('are empty without two instants', () => {
    for (const points of [[], [point(0, 0)], [point(0, 0), point(0, 5)]])
      expect(ratesOf(points).at).toEqual([]);
  });
});

describe('the timeline of a batch', () => {
  it('has states and waits in the order of time', () => {
    const at = (second: number) => new Date(second * 1_000).toISOString();
    const history: Pick<BatchHistory, 'states' | 'waits'> = {
      states: [
        { status: 'validating', at: at(0) },
        { status: 'in_progress', at: at(10) },
        { status: 'completed', at: at(50) },
      ],
      waits: [
        { reason: 'paused', message: 'Paused.', since: at(20), until: at(30) },
        { reason: 'engine_unavailable', message: 'Away.', since: at(40), until: null },
      ],
    };
    expect(timelineOf(history).map(({ word, from, to }) => [word, from / 1_000, to && to / 1_000])).toEqual([
      ['Created', 0, 10],
      ['First requests sent', 10, 50],
      ['Paused', 20, 30],
      ['Waiting: engine unavailable', 40, null],
      ['Completed', 50, null],
    ]);
  });
});
