import { beforeEach, describe, expect, it } from 'vitest';
import { type Log, silent } from '../base/log.ts';
import { BlobError } from './blob-error.ts';
import { ApiError } from './errors.ts';
import { createRetryLog, type RetryLog } from './retry-log.ts';
import { StoreError } from './store-error.ts';

const full = () =>
  new ApiError('insufficient_storage', 'The disk is full: nothing more can be stored.', {
    cause: new Error('database or disk is full'),
  });

let lines: [level: string, fields: object, message: string][];
let retries: RetryLog;

beforeEach(() => {
  lines = [];
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push([level, fields, message]);
  const log: Log = {
    ...silent,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
  retries = createRetryLog(log, { failed: 'not written; trying again', succeeded: 'written again' });
});

describe('the log of a repeated operation', () => {
  it('has one warning without a stack at the beginning of an outage, and one line at its end', () => {
    for (let rows = 0; rows < 3; rows++) retries.failed(full(), { rows });
    for (let n = 0; n < 3; n++) retries.succeeded();
    const outage = {
      code: 'insufficient_storage',
      reason: 'The disk is full: nothing more can be stored.',
      cause: 'database or disk is full',
    };
    expect(lines).toEqual([
      ['warn', { ...outage, rows: 0 }, 'not written; trying again'],
      ['debug', { ...outage, rows: 1 }, 'not written; trying again'],
      ['debug', { ...outage, rows: 2 }, 'not written; trying again'],
      ['info', {}, 'written again'],
    ]);
  });

  it.each([
    new StoreError('unreachable', 'No answer.', 'Start it.'),
    new BlobError('unavailable', 'The folder is not mounted.', 'Mount it.'),
  ])('warns of each outage: $message', (outage) => {
    retries.failed(outage);
    retries.succeeded();
    retries.failed(full());
    expect(lines.map(([level]) => level)).toEqual(['warn', 'info', 'warn']);
  });

  it('has a stack for each failure inside the server, also during an outage', () => {
    const bug = new Error('no such column');
    retries.failed(full());
    retries.failed(bug, { rows: 1 });
    retries.failed(new BlobError('damaged', 'Truncated.', 'Restore it.'));
    retries.failed(new ApiError('internal_error', 'Failed.'));
    expect(lines[1]).toEqual(['error', { err: bug, rows: 1 }, 'not written; trying again']);
    expect(lines.map(([level]) => level)).toEqual(['warn', 'error', 'error', 'error']);
  });

  it('is silent while nothing fails', () => {
    retries.succeeded();
    expect(lines).toEqual([]);
  });
});
