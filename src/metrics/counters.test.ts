import { describe, expect, it } from 'vitest';
import { noCost } from '../core/price.ts';
import type { Lease } from '../store/contract/claim.ts';
import type { LineResult, RecordOutcome, ResultStore } from '../store/contract/results.ts';
import { createCounters } from './counters.ts';

const usage = { inputTokens: 10, cachedTokens: 4, cacheWriteTokens: 0, outputTokens: 3, reasoningTokens: 0 };
const row = (batchId: string, line: number, code: string | null = null): LineResult => ({
  batchId,
  line,
  stream: code === null ? 'output' : 'errors',
  body: new Uint8Array(),
  model: 'tiny',
  usage,
  cost: noCost,
  attempts: 1,
  code,
});

const outcome = (batchId: string, kept: number): RecordOutcome => ({
  batchId,
  orgId: `org of ${batchId}`,
  kept,
  closed: false,
  complete: false,
});

function counted(kept: RecordOutcome[], isRecorded = true) {
  const counts = createCounters();
  const stored = {
    record: () => Promise.resolve(kept),
    recordMissing: () => Promise.resolve(isRecorded),
  } as Partial<ResultStore> as ResultStore;
  return { counts, results: counts.instrument(stored) };
}

const lease = {} as Lease;

describe('what is recorded', () => {
  it('is counted by its end, failures by their code, and with its tokens', async () => {
    const { counts, results } = counted([outcome('a', 2), outcome('b', 1)]);
    await results.record('w', [row('a', 1), row('b', 1, 'invalid_request'), row('a', 2)], [], 0);
    const text = await counts.registry.metrics();
    expect(text).toContain('offpeak_batch_lines_total{model="tiny",result="completed"} 2\n');
    expect(text).toContain('offpeak_batch_lines_total{model="tiny",result="failed"} 1\n');
    expect(text).toContain('offpeak_batch_line_errors_total{model="tiny",code="invalid_request"} 1\n');
    expect(text).toContain('offpeak_tokens_total{model="tiny",tier="batch",type="input"} 30\n');
    expect(text).toContain('offpeak_tokens_total{model="tiny",tier="batch",type="cached_input"} 12\n');
    expect(text).toContain('offpeak_tokens_total{model="tiny",tier="batch",type="output"} 9\n');
  });

  it('is counted once: what another process had recorded, or came after the end, is not', async () => {
    const { counts, results } = counted([outcome('a', 0), outcome('b', 1)]);
    await results.record('w', [row('a', 1), row('b', 1), row('b', 2)], [], 0);
    expect(await counts.registry.metrics()).toContain(
      'offpeak_batch_lines_total{model="tiny",result="completed"} 1\n',
    );
  });

  it.each([
    [true, ' 2\n'],
    [false, undefined],
  ])('is counted at the end of a batch where it was not fenced: %s', async (isRecorded, figure) => {
    const { counts, results } = counted([], isRecorded);
    const rows = [row('a', 1, 'batch_expired'), row('a', 2, 'batch_expired')];
    expect(await results.recordMissing('w', lease, rows, 0)).toBe(isRecorded);
    const told = /offpeak_batch_line_errors_total\{model="tiny",code="batch_expired"\}(.*\n)/;
    expect(told.exec(await counts.registry.metrics())?.[1]).toBe(figure);
  });
});
