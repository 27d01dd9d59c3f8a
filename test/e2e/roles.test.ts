import { afterAll, afterEach, describe, expect, it, test } from 'vitest';
import { startApp, testModel } from '../support/app.ts';
import type { AppOptions, RunningApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { until } from '../support/until.ts';

// Processes that divide the work: `api` serves requests, `worker` runs batches.

const postgres = await startPostgres();

if ('reason' in postgres) test.skip(`roles (skipped: ${postgres.reason})`, () => {});
else {
  afterAll(() => postgres.stop());
  roleTests(postgres);
}

function roleTests(server: PostgresServer): void {
  const adminKey = 'test-admin-0123456789-abcdefghijklmnop';
  let fleet: RunningApp[] = [];

  afterEach(async () => {
    await Promise.all(fleet.slice(1).map((each) => each.stop()));
    // The data folder of the first one.
    await fleet[0]?.stop();
    fleet = [];
  });

  async function join(database: string, options: AppOptions): Promise<RunningApp> {
    const joined = await startApp({ ...options, adminKey, database, beside: fleet[0] });
    fleet.push(joined);
    return joined;
  }

  const only = (id: string) => ({ ...testModel(), id, aliases: [] });
  const linesOf = (model: string, count: number) =>
    chatLines(count).map((line) => ({ ...line, body: { ...line.body, model } }));
  const post = (app: RunningApp, path: string, json: object) => app.api.send(path, { method: 'POST', json });
  const chat = (app: RunningApp, model: string, more: object = {}) =>
    post(app, '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hello' }], ...more });

  interface Process {
    id: string;
    role: string;
    leases: { chunks: number };
  }
  const processes = async ({ url }: RunningApp) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const answer = await fetch(`${url}/v1/admin/processes`, { headers });
    return ((await answer.json()) as { data: Process[] }).data;
  };

  describe('an api process', () => {
    it('claims nothing, says that nobody does, and hands batches and flex requests to a worker', async () => {
      const database = await server.createDatabase();
      const api = await join(database, { role: 'api' });
      const ready = await api.api.send('/readyz');
      expect([ready.status, JSON.parse(ready.text)]).toEqual([
        200,
        expect.objectContaining({ status: 'ready', warning: expect.stringContaining('role worker or all') }),
      ]);
      const { id } = await api.api.createBatch({ requests: linesOf('tiny', 20) });
      const flex = chat(api, 'tiny', { service_tier: 'flex' });
      const state = () =>
        api.api.get<{ waiting: { reason: string; message: string } | null }>(`/v1/batches/${id}`);
      expect((await until('it waits', async () => (await state()).waiting)).message).toContain('role api');
      expect((await chat(api, 'tiny')).status).toBe(200);

      const worker = await join(database, { role: 'worker' });
      expect(await api.api.finished(id)).toMatchObject({ request_counts: { completed: 20, failed: 0 } });
      const answer = await flex;
      expect([answer.status, (JSON.parse(answer.text) as { service_tier: string }).service_tier]).toEqual([
        200,
        'flex',
      ]);
      expect((await processes(api)).map(({ role }) => role).toSorted()).toEqual(['api', 'worker']);
      const instance = (await api.api.send('/healthz')).headers.get('x-offpeak-instance');
      expect((await processes(api)).find(({ id: each }) => each === instance)?.role).toBe('api');
      await until('the warning ends', async () => {
        const { warning } = JSON.parse((await api.api.send('/readyz')).text) as { warning: string | null };
        return warning === null;
      });
      expect((await fetch(`${worker.url}/v1/models`)).status).toBe(404);
      expect((await fetch(`${worker.url}/readyz`)).status).toBe(200);
    });

    it('accepts batches for a model that only workers have, and runs its own background requests', async () => {
      const database = await server.createDatabase();
      await join(database, { role: 'worker', models: [only('m1')] });
      const api = await join(database, { role: 'api', models: [only('m2')] });
      const { id } = await api.api.createBatch({ requests: linesOf('m1', 20) });
      expect(await api.api.finished(id)).toMatchObject({ request_counts: { completed: 20, failed: 0 } });
      const listed = await api.api.get<{ data: { id: string }[] }>('/v1/models');
      expect(listed.data.map((each) => each.id).toSorted()).toEqual(['m1', 'm2']);
      // No worker serves this model.
      const begun = await post(api, '/v1/responses', { model: 'm2', input: 'hello', background: true });
      const { id: response } = JSON.parse(begun.text) as { id: string };
      await until('the response ends', async () => {
        const { status } = await api.api.get<{ status: string }>(`/v1/responses/${response}`);
        return status === 'completed';
      });
      const lost = await api.api.createBatch({ requests: linesOf('m2', 2) });
      const waiting = async () =>
        (await api.api.get<{ waiting: { reason: string } | null }>(`/v1/batches/${lost.id}`)).waiting;
      expect(await until('it waits', waiting)).toMatchObject({ reason: 'model_missing' });
    });
  });

  it('two workers share a batch of two api processes, each line once', async () => {
    const database = await server.createDatabase();
    const [first, second] = [await join(database, { role: 'api' }), await join(database, { role: 'api' })];
    await join(database, { role: 'worker' });
    await join(database, { role: 'worker' });
    const { id } = await first.api.createBatch({ requests: linesOf('tiny', 500) });
    expect(await second.api.finished(id)).toMatchObject({ request_counts: { completed: 500, failed: 0 } });
    for (const each of await processes(second)) if (each.role === 'api') expect(each.leases.chunks).toBe(0);
  });
}
