import { afterAll, expect, it } from 'vitest';
import type { Api } from '../support/api.ts';
import { chatLines } from '../support/batch-lines.ts';
import { completion, send, startFakeUpstream } from '../support/fake-upstream.ts';
import { startPostgres } from '../support/postgres.ts';
import { install, upstreamYaml } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// Two servers on one Postgres send more single requests to one upstream than it can take, without a pause.

const slots = 4;
const lines = 20;
const answerMs = 5;

const postgres = await startPostgres();

if ('reason' in postgres) it.skip(`floor of batches (skipped: ${postgres.reason})`, () => {});
else {
  afterAll(() => postgres.stop());

  it('batches end under permanent interactive load at both servers, which keeps most of the slots', async ({
    onTestFinished,
  }) => {
    const inFlight = { single: 0, line: 0 };
    let mostLines = 0;
    const answered = { first: 0, second: 0 };
    const upstream = await startFakeUpstream((response, received) => {
      upstream.received.length = 0;
      const kind = received.text.includes('busy') ? 'single' : 'line';
      inFlight[kind]++;
      mostLines = Math.max(mostLines, inFlight.line);
      response.on('close', () => inFlight[kind]--);
      setTimeout(() => {
        if (kind === 'single') answered[received.headers['x-server'] as 'first' | 'second']++;
        send(response, 200, completion('fine'));
      }, answerMs);
    });
    onTestFinished(() => upstream.close());
    const installation = install(
      upstreamYaml(upstream.url, {
        slots,
        engine: ', headers: { x-server: "${WHO}" }',
        more: `database: ${await postgres.createDatabase()}\n`,
      }),
    );
    onTestFinished(() => installation.remove());
    const servers = [
      await installation.start({ env: { WHO: 'first' } }),
      await installation.start({ env: { WHO: 'second' } }),
    ];
    const over = new AbortController();
    // Before the servers go, also when the test fails.
    onTestFinished(() => over.abort());
    const messages = [{ role: 'user', content: 'busy' }];
    const load = async (api: Api) => {
      while (!over.signal.aborted)
        await api.send('/v1/chat/completions', { json: { model: 'tiny', messages } });
    };
    const clients = servers.flatMap(({ api }) => Array.from({ length: 20 }, () => load(api)));
    await until('the load is permanent', () => Math.min(answered.first, answered.second) > 100);
    const before = { ...answered };
    const { id } = await servers[0]!.api.createBatch({ requests: chatLines(lines) });
    const batch = await servers[1]!.api.finished(id);
    over.abort();
    await Promise.all(clients);
    expect(batch.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
    // The floor of four slots is one; a second line may run while one process takes it over from the other.
    expect(mostLines).toBeLessThanOrEqual(2);
    expect(answered.first - before.first).toBeGreaterThan(lines);
    expect(answered.second - before.second).toBeGreaterThan(lines);
  });
}
