import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/system.ts';
import type { StoredFile } from '../../src/core/file.ts';
import { noUsage } from '../../src/core/usage.ts';
import { addToLedger, nextId } from '../store/fixtures.ts';
import { countTurns } from '../support/count-turns.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

// Attacks 7 and 9: pages of up to 10,000 rows, many at once, must not hold up other requests.

const count = 1_000;

let app: RunningServer;
let orgId: string;
let ids: string[];
/** Reads of the database: their rows, and how many ran together. */
let reads: { rows: number; together: number }[];

beforeAll(async () => {
  app = await startServer({ clock: { ...systemClock, now: () => Date.UTC(2026, 10, 21, 12) } });
  const { json } = await app.call('GET', '/v1/files?limit=10000');
  expect(json).toEqual({ object: 'list', data: [], first_id: null, last_id: null, has_more: false });
  ({ orgId } = await app.accounts.authenticate({ authorization: [`Bearer ${app.keys.a}`], xApiKey: [] }));
  const files: StoredFile[] = Array.from({ length: count }, () => ({
    id: nextId('file-'),
    orgId,
    keyId: null,
    purpose: 'batch',
    filename: 'planted "é".jsonl',
    bytes: 1,
    blobId: nextId('blob_'),
    sha256: '0'.repeat(64),
    requests: 1,
    endpoint: '/v1/chat/completions',
    warnings: [],
    createdAt: 1_700_000_000_000,
    expiresAt: null,
  }));
  for (const file of files) await app.store.files.insert(file, undefined, 0);
  ids = files.map(({ id }) => id);
  const list = app.store.files.list.bind(app.store.files);
  let running = 0;
  app.store.files.list = async (...given) => {
    const together = ++running;
    const found = await list(...given);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    reads.push({ rows: found.length, together });
    return found;
  };
});
afterAll(() => app?.stop());

describe('a long list', () => {
  const list = async (query: string) => {
    reads = [];
    const { status, json } = await app.call('GET', `/v1/files?order=asc&${query}`);
    expect([status, json.object]).toEqual([200, 'list']);
    const data = json.data as { id: string }[];
    expect([json.first_id, json.last_id]).toEqual([data[0]?.id, data.at(-1)?.id]);
    return [data.map(({ id }) => id), json.has_more];
  };

  it.each([
    [10_000, count, false],
    [count, count, false],
    [count - 1, count - 1, true],
    [101, 101, true],
    [100, 100, true],
    [1, 1, true],
  ])('of up to %i files is one page, read in slices (attack 7)', async (limit, length, hasMore) => {
    expect(await list(`limit=${limit}`)).toEqual([ids.slice(0, length), hasMore]);
    expect(Math.max(...reads.map(({ rows }) => rows))).toBeLessThanOrEqual(101);
  });

  it('begins after a cursor', async () => {
    expect(await list(`limit=10000&after=${ids[300]}`)).toEqual([ids.slice(301), false]);
  });

  it('is read one slice at a time, however many an org requests (attack 7)', async () => {
    reads = [];
    const answers = Array.from({ length: 20 }, () => app.call('GET', '/v1/files?limit=10000'));
    for (const { json } of await Promise.all(answers)) expect(json.data).toHaveLength(count);
    expect(reads).toHaveLength(20 * (count / 100));
    expect(Math.max(...reads.map(({ together }) => together))).toBe(1);
  });

  it('answers HEAD, and has an ordinary error if its first slice fails', async () => {
    expect((await app.call('HEAD', '/v1/files?limit=10000')).status).toBe(200);
    const working = app.store.files.list.bind(app.store.files);
    app.store.files.list = () => Promise.reject(new Error('gone'));
    expect((await app.call('GET', '/v1/files?limit=10000')).status).toBe(500);
    app.store.files.list = working;
  });
});

describe('usage', () => {
  const rows = 3_000;
  let together: number;

  beforeAll(async () => {
    await addToLedger(
      app.store,
      Array.from({ length: rows }, (_, n) => ({
        sourceId: `batch_${String(n).padStart(4, '0')}`,
        keyId: null,
        orgId,
        model: 'tiny',
        day: '2026-11-21',
        requests: 1,
        usage: { ...noUsage, outputTokens: n },
        amount: 1_000_000,
      })),
    );
    const usage = app.store.ledger.usage.bind(app.store.ledger);
    let running = 0;
    app.store.ledger.usage = async (...given) => {
      together = Math.max(together, ++running);
      const part = await usage(...given);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return part;
    };
  });

  it.each(['application/json', 'text/csv'])(
    'is summed and written as %s in slices, one read at a time for one org (attack 9)',
    async (accept) => {
      together = 0;
      const { turn, stop } = countTurns();
      const ask = () => app.call('GET', '/v1/usage?group_by=batch&limit=10000', { headers: { accept } });
      const answers = await Promise.all([ask(), ask(), ask()]);
      stop();
      for (const { text, json } of answers) {
        const shown =
          accept === 'text/csv'
            ? text.split('\r\n').slice(1, -1)
            : (json.data as { batch_id: string; output_tokens: number }[]).map(
                (row) => `${row.batch_id},1,0,0,${row.output_tokens},0.001,0,0`,
              );
        expect(shown).toEqual(
          Array.from({ length: rows }, (_, n) => `batch_${String(n).padStart(4, '0')},1,0,0,${n},0.001,0,0`),
        );
        if (accept === 'application/json')
          expect(json).toMatchObject({
            first_id: 'batch_0000',
            last_id: `batch_${rows - 1}`,
            has_more: false,
            total: { requests: rows, amount: '3' },
          });
      }
      expect(together).toBe(1);
      // Steps of 250 rows to sum them, of 512 to sort them, and of 100 to write them.
      expect(turn()).toBeGreaterThan(3 * rows * (1 / 250 + 1 / 512 + 1 / 100));
    },
  );
});
