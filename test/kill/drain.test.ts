import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { systemClock } from '../../src/base/system.ts';
import { type RunningApp, startApp, testModel } from '../support/app.ts';
import { chatLines, endings } from '../support/batch-lines.ts';
import { startCountingUpstream } from '../support/counting-upstream.ts';
import type { CountingUpstream } from '../support/counting-upstream.ts';
import { install, scriptedYaml, upstreamYaml } from '../support/server-process.ts';
import type { Installation } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// A graceful shutdown loses nothing, repeats nothing, and leaves no lease to lapse.

let installation: Installation | undefined;
const running: RunningApp[] = [];
let upstream: CountingUpstream | undefined;

afterEach(async () => {
  await installation?.remove();
  installation = undefined;
  for (const app of running.splice(0).toReversed()) await app.stop();
  await upstream?.close();
  upstream = undefined;
});

describe('F07: SIGTERM', () => {
  it('lets calls in flight finish, releases the rest, and the next start continues at once', async () => {
    const lines = 200;
    upstream = await startCountingUpstream({ delayMs: 300 });
    installation = install(upstreamYaml(upstream.url, { slots: 8, more: 'drain: 1h\n' }));
    const first = await installation.start();
    const { id } = await first.api.createBatch((await first.api.upload(chatLines(lines))).id);
    await until('calls are in flight', () => upstream!.total() >= 12);

    // The server stops after its last call, long before its limit of an hour.
    expect(await first.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(chunkStates(installation)).not.toContain('leased');
    expect(maxKills(installation)).toBe(0);

    const asked = upstream.total();
    const second = await installation.start();
    await until('lines run again', () => upstream!.total() > asked);
    const batch = await second.api.finished(id);
    expect(batch.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
    expect(endings((await second.api.results(id, 'output')).text, '').distinct.size).toBe(lines);
    expect([...upstream.calls.values()].filter((calls) => calls !== 1)).toEqual([]);
  });

  it('releases lines that do not end in time, without counting an attempt', async () => {
    const drainMs = 100;
    let polls = 0;
    // The drain polls every 10 ms; a slow machine polls less often in the same time, never more.
    const clock: Clock = {
      ...systemClock,
      after: (ms, fn) => {
        if (ms === 10) polls++;
        return systemClock.after(ms, fn);
      },
    };
    const models = [testModel({ kind: 'scripted', slots: 4, delayMs: 0 })];
    const first = await startApp({ models, drainMs, overrides: { clock } });
    running.push(first);
    const contents = (n: number) => (n < 3 ? `[[hang]] ${n}` : `row-${n}`);
    const { id } = await first.api.createBatch({ requests: chatLines(30, contents) });
    await until(
      'only the hanging lines are left',
      async () => (await first.api.batch(id)).request_counts.completed === 27,
    );
    polls = 0;
    await first.app.stop();
    expect(polls).toBeGreaterThan(0);
    expect(polls).toBeLessThan(20);
    expect(chunkStates(first)).not.toContain('leased');
    expect(maxKills(first)).toBe(0);
    const second = await startApp({ models, drainMs, beside: first });
    running.push(second);
    expect((await second.api.batch(id)).request_counts).toEqual({ total: 30, completed: 27, failed: 0 });
  });

  it('refuses new requests while it drains, and ends at once on the second signal', async () => {
    upstream = await startCountingUpstream({ delayMs: 3_600_000 });
    installation = install(upstreamYaml(upstream.url, { more: 'drain: 1h\n' }));
    const server = await installation.start();
    const messages = [{ role: 'user', content: 'row-1' }];
    const hanging = server.api
      .post('/v1/chat/completions', { model: 'tiny', messages })
      .catch((error: unknown) => error);
    await until('the call is in flight', () => upstream!.total() === 1);
    server.signal('SIGTERM');
    await until('it reports that it is stopping', () => server.stderr().includes('Stopping'));
    expect(await server.end('SIGTERM')).toEqual({ code: 143, signal: null });
    expect(await hanging).toBeInstanceOf(Error);
  });

  it('ends an idle server at once and without an error message', async () => {
    installation = install(scriptedYaml());
    const server = await installation.start();
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(server.stderr()).not.toMatch(/Error|at .*\.ts:/);
  });
});

type HasData = Pick<Installation, 'data'>;

/** States of the chunks, read from the database while no server runs. */
function chunkStates(from: HasData): string[] {
  return rows<{ state: string }>(from, 'SELECT DISTINCT state FROM batch_chunks').map(({ state }) => state);
}

function maxKills(from: HasData): number {
  return rows<{ kills: number }>(from, 'SELECT max(kills) AS kills FROM batch_chunks')[0]!.kills;
}

function rows<T>({ data }: HasData, sql: string): T[] {
  const db = new DatabaseSync(join(data, 'offpeak.db'), { readOnly: true });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}
