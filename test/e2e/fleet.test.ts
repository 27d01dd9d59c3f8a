import { afterAll, afterEach, describe, expect, it, onTestFinished, test } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { AppOptions, RunningApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { complete, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../support/fake-upstream.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { until } from '../support/until.ts';

// Several processes on one database.

const postgres = await startPostgres();

if ('reason' in postgres) test.skip(`a fleet (skipped: ${postgres.reason})`, () => {});
else {
  afterAll(() => postgres.stop());
  fleetTests(postgres);
}

function fleetTests(server: PostgresServer): void {
  let upstream: FakeUpstream;
  let fleet: RunningApp[] = [];

  afterEach(async () => {
    await Promise.all(fleet.slice(1).map((each) => each.stop()));
    // The data folder of the first one.
    await fleet[0]?.stop();
    fleet = [];
    await upstream.close();
  });

  async function join(database: string, options: AppOptions): Promise<RunningApp> {
    const joined = await startApp({ ...options, database, beside: fleet[0] });
    fleet.push(joined);
    return joined;
  }

  const served = (id: string) => ({
    ...testModel(upstreamEngine(upstream.url)),
    id,
    aliases: [`${id}-alias`],
  });
  const linesOf = (model: string, count: number) =>
    chatLines(count).map((line) => ({ ...line, body: { ...line.body, model } }));

  describe('processes that serve different models', () => {
    it("leave each other's lines alone", async () => {
      const held: (() => void)[] = [];
      upstream = await startFakeUpstream(
        (response, asked) => void held.push(() => complete('ok')(response, asked)),
      );
      const database = await server.createDatabase();
      const a = await join(database, { models: [served('m1')] });
      const first = await a.api.createBatch({ requests: linesOf('m1', 200) });
      await until('its slots are full', () => held.length > 8);
      const b = await join(database, { models: [served('m2')], batch: { lostModelAfterMs: 1 } });
      upstream.answer = complete('ok');
      const second = await b.api.createBatch({ requests: linesOf('m2', 200) });
      const done = { request_counts: { completed: 200, failed: 0 } };
      expect(await b.api.finished(second.id)).toMatchObject(done);
      for (const answer of held) answer();
      expect(await b.api.finished(first.id)).toMatchObject(done);
    });

    it('wait for the process that serves their model, and say so', async () => {
      upstream = await startFakeUpstream(complete('ok'));
      const database = await server.createDatabase();
      const b = await join(database, { models: [served('m2')] });
      const a = await join(database, { models: [served('m1')] });
      upstream.answer = () => {};
      const { id } = await a.api.createBatch({ requests: linesOf('m1', 20) });
      await a.stop();
      fleet.pop();
      const waiting = async () =>
        (await b.api.get<{ waiting: { reason: string } | null }>(`/v1/batches/${id}`)).waiting;
      // A process counts as alive until its next heartbeat is due.
      expect(await until('it waits', waiting)).toMatchObject({ reason: 'model_missing' });
      upstream.answer = complete('ok');
      await join(database, { models: [{ ...served('m3'), aliases: ['m1'] }, served('m1')] });
      expect(await b.api.finished(id)).toMatchObject({ request_counts: { completed: 20, failed: 0 } });
    });

    it('end the lines of a model that no process serves within the grace period', async () => {
      upstream = await startFakeUpstream(() => {});
      const database = await server.createDatabase();
      await join(database, { models: [served('m2')], batch: { lostModelAfterMs: 1 } });
      const a = await join(database, { models: [served('m1')] });
      const { id } = await a.api.createBatch({ requests: linesOf('m1', 20) });
      await a.stop();
      fleet.pop();
      const done = await fleet[0]!.api.finished(id);
      expect(done).toMatchObject({ request_counts: { completed: 0, failed: 20 } });
    });
  });

  describe('a process with a batch for a model of another', () => {
    it('accepts it at the price of the other process', async () => {
      upstream = await startFakeUpstream(complete('ok'));
      const database = await server.createDatabase();
      const a = await join(database, { models: [served('m1')] });
      const b = await join(database, { models: [served('m2')] });
      const costOf = async ({ api }: RunningApp, model: string) => {
        const { id } = await api.upload(linesOf(model, 6));
        const batch = await api.finished((await api.createBatch(id)).id);
        expect(batch).toMatchObject({ request_counts: { completed: 6, failed: 0 } });
        return batch.cost.amount;
      };
      const there = await costOf(a, 'm1');
      expect(Number(there)).toBeGreaterThan(0);
      expect(await costOf(b, 'm1-alias')).toBe(there);
      // The others learn about it from heartbeats, seconds later.
      await join(database, { models: [served('m3')] });
      const { id } = await a.api.upload(linesOf('m3', 6));
      const early = await a.api.finished((await a.api.createBatch(id)).id);
      expect(early).toMatchObject({ request_counts: { completed: 6 }, cost: { amount: there } });
    });
  });

  describe('processes with the same upstream', () => {
    it('lease its slots: a busy process gets the unused ones, and the total is never exceeded', async () => {
      const held: (() => void)[] = [];
      upstream = await startFakeUpstream(
        (response, asked) => void held.push(() => complete('ok')(response, asked)),
      );
      const database = await server.createDatabase();
      for (let at = 0; at < 4; at++) await join(database, { models: [served('m')] });
      const { id } = await fleet[3]!.api.createBatch({ requests: linesOf('m', 9) });
      await until('all lines are in flight', () => held.length === 9);
      for (const answer of held.splice(0)) answer();
      expect(await fleet[0]!.api.finished(id)).toMatchObject({ request_counts: { completed: 9 } });
    });
  });

  describe('a process that runs a response in the background', () => {
    it.each(['flex', 'default'])(
      'ends its call soon after another has cancelled it, at the tier %s',
      async (tier) => {
        upstream = await startFakeUpstream(() => {});
        const database = await server.createDatabase();
        const a = await join(database, { models: [served('m')] });
        const b = await join(database, { models: [served('m')] });
        const json = { model: 'm', input: 'Hi', background: true, service_tier: tier };
        const { id } = await a.api.post<{ id: string }>('/v1/responses', json);
        await until('it runs', () => upstream.received.length === 1);
        expect(await b.api.post(`/v1/responses/${id}/cancel`, {})).toMatchObject({ status: 'cancelled' });
        await until('its call has ended', () => upstream.received[0]!.aborted);
        expect(await a.api.get(`/v1/responses/${id}`)).toMatchObject({ status: 'cancelled' });
        expect(upstream.received).toHaveLength(1);
      },
    );
  });

  describe('processes whose connection to a model is broken (F33)', () => {
    const refuse: Responder = (response) => send(response, 401, { error: { message: 'no such key' } });

    it('leave its lines to those that can send them', async () => {
      const asked: string[] = [];
      const answer: Responder = (response, received) => {
        asked.push(received.text);
        complete('ok')(response, received);
      };
      const turns: (() => void)[] = [];
      upstream = await startFakeUpstream(answer);
      const other = await startFakeUpstream(refuse);
      onTestFinished(() => other.close());
      const away = await startFakeUpstream(refuse);
      await away.close();
      const database = await server.createDatabase();
      const at = (url: string) => ({ ...testModel(upstreamEngine(url)), id: 'm', aliases: [] });
      const well = await join(database, { models: [at(upstream.url)] });
      const refused = await join(database, { models: [at(other.url)] });
      await join(database, { models: [at(away.url)] });
      const waitingAt = async ({ api }: RunningApp, id: string) =>
        (await api.get<{ waiting: { reason: string } | null }>(`/v1/batches/${id}`)).waiting;
      const done = { request_counts: { completed: 400, failed: 0 } };

      const first = await refused.api.createBatch({ requests: linesOf('m', 400) });
      expect(await refused.api.finished(first.id)).toMatchObject(done);
      expect([asked.length, new Set(asked).size]).toEqual([400, 400]);

      // The roles swap while the next batch runs.
      upstream.answer = (...call) => void turns.push(() => answer(...call));
      const second = await refused.api.createBatch({ requests: linesOf('m', 400) });
      await until('its slots are full', () => turns.length >= 7);
      expect(await waitingAt(refused, second.id)).toBeNull();
      asked.splice(0);
      for (const turn of turns) turn();
      upstream.answer = refuse;
      for (const each of [refused, well])
        await until(
          'it says why it waits',
          async () => (await waitingAt(each, second.id))?.reason === 'credentials_refused',
        );
      other.answer = answer;
      // An interactive request is not blocked by earlier failures: it probes the upstream for everyone.
      const json = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
      await refused.api.send('/v1/chat/completions', { json });
      expect(await well.api.finished(second.id)).toMatchObject(done);
      const lines = asked.filter((text) => text.includes('row-'));
      expect([lines.length, new Set(lines).size]).toEqual([400, 400]);
    });
  });
}
