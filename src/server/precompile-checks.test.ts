import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { batchEndpoints } from '../core/batch.ts';
import { batchChecks, precompileChecks } from './precompile-checks.ts';

/** Three checks that note when each is prepared, by the turn of the event loop. */
function notedChecks() {
  let turn = 0;
  const turns: number[] = [];
  const next = () => {
    turn += 1;
    counting = setImmediate(next);
  };
  let counting = setImmediate(next);
  const check = () => void turns.push(turn);
  return { checks: [check, check, check], turns, end: () => clearImmediate(counting) };
}

describe('checks that are prepared', () => {
  it('are prepared some time after the start, each in a turn of its own', async () => {
    const clock = createManualClock();
    const { checks, turns, end } = notedChecks();
    const service = precompileChecks(checks, clock);
    service.start();
    await clock.advance(499);
    expect(turns).toEqual([]);
    await clock.advance(1);
    end();
    expect(turns).toHaveLength(3);
    expect(new Set(turns).size).toBe(3);
    expect(clock.pending).toBe(0);
  });

  it('are left alone once it is stopped, before the first and between two', async () => {
    const clock = createManualClock();
    const done: string[] = [];
    const service = precompileChecks(
      [
        () => {
          done.push('one');
          service.stop();
        },
        () => done.push('two'),
      ],
      clock,
    );
    service.stop();
    service.start();
    service.stop();
    await clock.advance(1_000);
    expect(done).toEqual([]);
    service.start();
    await clock.advance(1_000);
    expect(done).toEqual(['one']);
  });

  it('are those that a batch meets: of its creation, and of the endpoints that are open', () => {
    expect(batchChecks(['/v1/chat/completions', '/v1/embeddings'])).toHaveLength(3);
    expect(new Set(batchChecks(batchEndpoints)).size).toBe(batchEndpoints.length + 2);
  });
});
