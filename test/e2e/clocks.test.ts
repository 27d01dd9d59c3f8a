import { afterAll, describe, expect, it, test } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { systemClock } from '../../src/base/system.ts';
import { startApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { startPostgres } from '../support/postgres.ts';

// Several machines on one database with different wall clocks: stored times come from the database.

const postgres = await startPostgres();

const setAhead = (ms: number): Clock => ({ ...systemClock, now: () => systemClock.now() + ms });

if ('reason' in postgres) test.skip(`wall clocks that differ (skipped: ${postgres.reason})`, () => {});
else {
  afterAll(() => postgres.stop());
  describe.each([
    ['90 seconds ahead', 90_000],
    ['25 hours ahead', 90_000_000],
    ['25 hours behind', -90_000_000],
  ])('a process whose wall clock is %s', (_, ms) => {
    it('leaves background work of others alone, and stores times of the database', async () => {
      const database = await postgres.createDatabase();
      const one = await startApp({ database });
      const request = { model: 'tiny', input: '[[hang]]', background: true };
      const { id } = await one.api.post<{ id: string }>('/v1/responses', request);
      const other = await startApp({ database, beside: one, overrides: { clock: setAhead(ms) } });
      const { status } = await other.api.get<{ status: string }>(`/v1/responses/${id}`);
      expect(status).toMatch(/^(queued|in_progress)$/);
      const { id: fileId } = await other.api.upload(chatLines(1));
      const { created_at } = await one.api.get<{ created_at: number }>(`/v1/files/${fileId}`);
      expect(Math.abs(created_at * 1000 - systemClock.now())).toBeLessThan(600_000);
      await other.stop();
      await one.stop();
    });
  });
}
