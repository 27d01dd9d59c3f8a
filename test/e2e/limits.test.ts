import { afterAll, afterEach, describe, expect, it, test } from 'vitest';
import { systemClock } from '../../src/base/system.ts';
import { type RunningApp, startApp } from '../support/app.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';

// Limits of requests that two processes on one database share. Their clock stands still.

const postgres = await startPostgres();

if ('reason' in postgres) test.skip(`limits (skipped: ${postgres.reason})`, () => {});
else {
  afterAll(() => postgres.stop());
  limitTests(postgres);
}

function limitTests(server: PostgresServer): void {
  let running: RunningApp[] = [];
  afterEach(async () => {
    for (const each of running.toReversed()) await each.stop();
    running = [];
  });

  async function start(perOrg: object) {
    const database = await server.createDatabase();
    const [now, monotonic] = [systemClock.now(), systemClock.monotonic()];
    const clock = { ...systemClock, now: () => now, monotonic: () => monotonic };
    for (const beside of [false, true])
      running.push(
        await startApp({
          database,
          limits: { perOrg },
          overrides: { clock },
          beside: beside ? running[0] : undefined,
        }),
      );
  }

  const ask = async ({ url, key }: RunningApp) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'hi' }] }),
    });
    await response.text();
    return response.status;
  };

  describe('requests per minute of an org', () => {
    it('admit 100 to 102 of 200 concurrent requests at two processes', async () => {
      await start({ requestsPerMinute: 100 });
      const statuses = await Promise.all(Array.from({ length: 200 }, (_, at) => ask(running[at % 2]!)));
      const admitted = statuses.filter((status) => status === 200).length;
      expect(admitted).toBeGreaterThanOrEqual(100);
      expect(admitted).toBeLessThanOrEqual(102);
      expect(statuses.filter((status) => status === 429)).toHaveLength(200 - admitted);
    });

    it('are used by one process alone when the other has no requests', async () => {
      await start({ requestsPerMinute: 30, concurrentRequests: 50 });
      const statuses = await Promise.all(Array.from({ length: 40 }, () => ask(running[1]!)));
      expect(statuses.filter((status) => status === 200)).toHaveLength(30);
      expect(await ask(running[0]!)).toBe(429);
    });

    it('are reported by both processes', async () => {
      await start({ requestsPerMinute: 30 });
      for (let at = 0; at < 5; at++) await ask(running[at % 2]!);
      for (const { url, key } of running) {
        const answer = await fetch(`${url}/v1/limits`, { headers: { authorization: `Bearer ${key}` } });
        const { data } = (await answer.json()) as { data: { name: string; used: number }[] };
        expect(data.find(({ name }) => name === 'requests_per_minute')).toMatchObject({ limit: 30, used: 5 });
      }
    });
  });
}
