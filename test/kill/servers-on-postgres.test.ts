import { afterAll, describe, expect, it } from 'vitest';
import type { TestContext } from 'vitest';
import { chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { startCountingUpstream } from '../support/counting-upstream.ts';
import type { CountingUpstream } from '../support/counting-upstream.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { install, upstreamYaml } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// Two servers on one Postgres and one data folder. One is killed, one freezes for longer than its leases, and the database
// closes all connections. Every line ends once, and is repeated only where necessary. `OFFPEAK_KILLS=50` sets the number of
// kills, one after the other, over 10,000 lines.

const kills = Number(process.env['OFFPEAK_KILLS'] ?? 1);

const slots = 16;
/** The slots and an eighth more are in flight; a group has at most 256 answers. */
const repeatsPerLoss = Math.ceil((slots * 9) / 8) + 256;

/** Two servers with a running batch. */
interface RunningBatch {
  upstream: CountingUpstream;
  installation: Installation;
  servers: [ServerProcess, ServerProcess];
  id: string;
  lines: number;
  /** Resolves when the upstream has received this many calls. */
  asked: (calls: number) => Promise<unknown>;
}

const postgres = await startPostgres();

if ('reason' in postgres) it.skip(`two servers on one Postgres (skipped: ${postgres.reason})`, () => {});
else describe('two servers on one Postgres', () => serverTests(postgres));

function serverTests(database: PostgresServer): void {
  afterAll(() => database.stop());

  async function begin(lines: number, { onTestFinished }: TestContext): Promise<RunningBatch> {
    const upstream = await startCountingUpstream({ delayMs: 20 });
    onTestFinished(() => upstream.close());
    const url = await database.createDatabase();
    const installation = install(
      upstreamYaml(upstream.url, {
        slots,
        engine: ', headers: { x-server: "${WHO}" }',
        more: `database: ${url}\n`,
      }),
    );
    onTestFinished(() => installation.remove());
    const servers: [ServerProcess, ServerProcess] = [
      await installation.start({ env: { WHO: 'first' } }),
      await installation.start({ env: { WHO: 'second' } }),
    ];
    const file = await servers[0].api.upload(chatLines(lines));
    const { id } = await servers[1].api.createBatch(file.id);
    const asked = (calls: number) =>
      until(`the upstream received ${calls} calls`, () => upstream.total() >= calls);
    return { upstream, installation, servers, id, lines, asked };
  }

  async function expectOnce(
    { upstream, id, lines }: RunningBatch,
    server: ServerProcess,
    losses: number,
  ): Promise<void> {
    const batch = await server.api.finished(id);
    expect(batch.status).toBe('completed');
    expect(batch.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
    const output = (await server.api.results(id, 'output')).text;
    const { all, distinct } = endings(output, (await server.api.results(id, 'errors')).text);
    expect([all.length, distinct.size]).toEqual([lines, lines]);
    const tokens = parseLines(output).reduce(
      (sum, { response }) => sum + response!.body.usage.prompt_tokens,
      0,
    );
    expect(batch.usage.input_tokens).toBe(tokens);
    expect(new Set(upstream.calls.keys())).toEqual(new Set(chatLines(lines).map((line) => line.custom_id)));
    expect(upstream.total() - lines).toBeLessThanOrEqual(losses * repeatsPerLoss);
  }

  it('F08: share a batch and repeat no request', async (context) => {
    const begun = await begin(400, context);
    await expectOnce(begun, begun.servers[0], 0);
  });

  // Both tests wait until a lease lapses.
  it.concurrent(
    `F08: lose nothing when ${kills === 1 ? 'one of them is killed' : `they are killed ${kills} times`}`,
    async (context) => {
      const lines = kills === 1 ? 1_000 : 10_000;
      const begun = await begin(lines, context);
      const { servers, installation, asked } = begun;
      const alive: ServerProcess[] =
        kills === 1 ? [...servers] : [...servers, await installation.start({ env: { WHO: 'third' } })];
      for (let n = 1; n <= kills; n++) {
        await asked(n * Math.min(200, lines / (2 * kills)));
        await alive.pop()!.end('SIGKILL');
        if (n < kills) alive.unshift(await installation.start({ env: { WHO: `after ${n} kills` } }));
      }
      await expectOnce(begun, alive[0]!, kills);
    },
    300_000 + kills * 20_000,
  );

  it.concurrent('F09: record nothing twice when one freezes until the other has taken over its work', async (context) => {
    const begun = await begin(2_000, context);
    const { upstream, servers, id, asked } = begun;
    await asked(300);
    // The server freezes while it waits for an answer, so that it holds a lease.
    upstream.holdAfter = 0;
    await until('the second waits for an answer', () => upstream.holds('second'));
    servers[1].signal('SIGSTOP');
    upstream.release();
    const batch = await servers[0].api.finished(id);
    expect(batch.request_counts.completed).toBe(2_000);
    servers[1].signal('SIGCONT');
    await expectOnce(begun, servers[1], 1);
    expect(upstream.total()).toBeGreaterThan(2_000);
  });

  it('F35: continue when the database closes their connections repeatedly', async (context) => {
    const begun = await begin(1_500, context);
    const { servers, id, asked } = begun;
    for (let n = 1; n <= 4; n++) {
      await asked(n * 200);
      if (n === 3) await database.crash();
      // Requests in flight continue without a connection; after the crash it may take a moment to reconnect.
      else await until('connections are cut', async () => (await database.cutConnections()) > 0);
    }
    await until('the database is back', async () => {
      return (await servers[0].api.send(`/v1/batches/${id}`)).status === 200;
    });
    // No process dies and no lease lapses, so no request is repeated.
    await expectOnce(begun, servers[0], 0);
  });
}
