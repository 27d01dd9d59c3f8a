import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLine, chatLines } from './support/jsonl.ts';
import { uploadForm } from './support/multipart.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const endpoint = '/v1/chat/completions';
const finals = ['completed', 'failed', 'cancelled', 'expired'];
const get = async (path: string): Promise<Json> => (await app.call('GET', `/v1/batches/${path}`)).json;
const retry = (id: string, headers = {}, key = app.keys.a) =>
  app.call('POST', `/v1/batches/${id}/retry`, { key, headers });

async function create(source: object): Promise<Json> {
  const json = { endpoint, completion_window: '24h', ...source };
  return (await app.call('POST', '/v1/batches', { json })).json;
}

async function finished(id: string): Promise<Json> {
  await expect.poll(async () => (await get(id)).status).toSatisfy(isFinal);
  return get(id);
}

const isFinal = (status: string) => finals.includes(status);

async function linesOf(id: string, stream: 'output' | 'errors'): Promise<Json[]> {
  const { text } = await app.call('GET', `/v1/batches/${id}/${stream}`);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** Requests of which every second one fails on its first attempt. */
const halfFails = (n: number) => (n % 2 === 1 ? `${n} [[fail 400 1]]` : `${n} ünï`);

async function ended(count: number): Promise<Json> {
  const requests = Array.from({ length: count }, (_, n) =>
    chatLine(n, 'tiny', `${Math.random()} ${halfFails(n)}`),
  );
  const { id } = await create({ requests, metadata: { a: 1 } });
  return finished(id);
}

describe('POST /v1/batches/{id}/retry', () => {
  it('201: runs only the failed requests in a new batch and keeps the old one', async () => {
    const content = chatLines(9, { content: halfFails }).replaceAll('\n', '\r\n\n');
    const { body, headers } = uploadForm(content);
    const file = await app.call('POST', '/v1/files', { headers, body: body as never });
    const { id } = await create({
      input_file_id: file.json.id,
      metadata: { team: 'x' },
      output_expires_after: { anchor: 'created_at', seconds: 7200 },
    });
    const old = await finished(id);
    expect([old.request_counts, old.retry_of]).toEqual([{ total: 9, completed: 5, failed: 4 }, null]);
    const { status, json } = await retry(id);
    expect(status).toBe(201);
    expect(json).toMatchObject({
      retry_of: id,
      endpoint,
      metadata: { team: 'x' },
      request_counts: { total: 4 },
    });
    expect(json.input_file_id).not.toBe(old.input_file_id);
    const done = await finished(json.id);
    expect(done.request_counts).toEqual({ total: 4, completed: 4, failed: 0 });
    const ids = (await linesOf(json.id, 'output')).map((line) => line.custom_id);
    expect(new Set(ids)).toEqual(new Set(['c1', 'c3', 'c5', 'c7']));
    const { json: output } = await app.call('GET', `/v1/files/${done.output_file_id}`);
    expect(output.expires_at - output.created_at).toBe(7200);
    expect(await get(id)).toEqual(old);
  });

  it('201: of a cancelled batch, runs the requests that never ran', async () => {
    const requests = [chatLine(0, 'tiny', 'quick'), chatLine(1, 'tiny', '[[hang]]')];
    const { id } = await create({ requests });
    await expect.poll(async () => (await get(id)).request_counts.completed).toBe(1);
    await app.call('POST', `/v1/batches/${id}/cancel`);
    await finished(id);
    const { json } = await retry(id);
    expect(json.request_counts.total).toBe(1);
    await app.call('POST', `/v1/batches/${json.id}/cancel`);
  });

  it('201: a repeated call returns the first batch, by idempotency key or SDK retry count', async () => {
    const [{ id }, other] = [await ended(2), await ended(2)];
    const first = await retry(id, { 'idempotency-key': 'r1' });
    const again = await retry(id, { 'idempotency-key': 'r1' });
    expect([again.status, again.json.id]).toEqual([201, first.json.id]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const mismatch = await retry(other.id, { 'idempotency-key': 'r1' });
    expect([mismatch.status, mismatch.json.error.code]).toEqual([422, 'idempotency_mismatch']);
    const silent = await retry(other.id);
    expect((await retry(other.id, { 'x-stainless-retry-count': '1' })).json.id).toBe(silent.json.id);
    expect((await retry(other.id)).json.id).not.toBe(silent.json.id);
  });

  it('409: while the batch runs, and if nothing failed', async () => {
    const { id } = await create({ requests: [chatLine(0, 'tiny', '[[hang]]')] });
    const early = await retry(id);
    expect([early.status, early.json.error.code, early.headers.get('x-should-retry')]).toEqual([
      409,
      'batch_not_finished',
      'false',
    ]);
    await app.call('POST', `/v1/batches/${id}/cancel`);
    const well = await create({ requests: [chatLine(0)] });
    await finished(well.id);
    const none = await retry(well.id);
    expect([none.status, none.json.error.code]).toEqual([409, 'nothing_to_retry']);
  });

  it('404: for another org as for an unknown id; if the input or the errors are gone, with a remedy', async () => {
    const { id, input_file_id, error_file_id } = await ended(2);
    const foreign = await retry(id, {}, app.keys.b);
    const unknown = await retry(`batch_${'0'.repeat(32)}`);
    expect(foreign.status).toBe(404);
    expect({ ...foreign.json, request_id: '' }).toEqual({ ...unknown.json, request_id: '' });
    await app.call('DELETE', `/v1/files/${input_file_id}`);
    const { status, json } = await retry(id);
    expect([status, json.error.code]).toEqual([404, 'not_found']);
    expect(json.error.message).toMatch(/input file .* is gone.*Upload/);
    const other = await ended(2);
    await app.call('DELETE', `/v1/files/${other.error_file_id}`);
    expect((await retry(other.id)).json.error.message).toMatch(/errors file .* is gone/);
    expect(error_file_id).not.toBeNull();
  });

  it('422: applies current rules, such as the model list of the key', async () => {
    const { id } = await ended(2);
    const orgs = await app.call('GET', '/v1/admin/orgs', { key: app.keys.admin });
    const asked = { org_id: orgs.json.data[0].id, models: ['vectors'] };
    const { json: made } = await app.call('POST', '/v1/admin/keys', { key: app.keys.admin, json: asked });
    const before = (await get('')).first_id;
    const { status, json } = await retry(id, {}, made.key);
    expect([status, json.error.code]).toEqual([422, 'model_not_allowed']);
    expect(json.error.details.errors[0]).toMatchObject({ custom_id: 'c1' });
    expect((await get('')).first_id).toBe(before);
  });

  describe('with codes', () => {
    const send = (id: string, body: object, headers = {}) =>
      app.call('POST', `/v1/batches/${id}/retry`, { json: body, headers });

    async function endedWithCodes(): Promise<Json> {
      const contents = ['ok', '[[fail 400 1]]', '[[fail invalid]]', '[[fail 400 1]] b'];
      const requests = contents.map((content, n) => chatLine(n, 'tiny', `${Math.random()} ${content}`));
      return finished((await create({ requests })).id);
    }

    it('201: runs only the requests that failed with them', async () => {
      const { id } = await endedWithCodes();
      const made = await send(id, { codes: ['request_refused'] });
      expect([made.status, made.json.request_counts.total]).toEqual([201, 2]);
      await finished(made.json.id);
      const ids = (await linesOf(made.json.id, 'output')).map((line) => line.custom_id);
      expect(new Set(ids)).toEqual(new Set(['c1', 'c3']));
      const both = await send(id, { codes: ['request_refused', 'invalid_upstream_response'] });
      expect(both.json.request_counts.total).toBe(3);
    });

    it('200: counts and prices them in a dry run, and stores nothing', async () => {
      const { id } = await endedWithCodes();
      const before = (await get('')).first_id;
      const { status, json } = await send(id, { codes: ['request_refused'], dry_run: true });
      expect([status, json.object, json.request_counts.total]).toEqual([200, 'batch.estimate', 2]);
      expect(Number(json.cost.amount)).toBeGreaterThan(0);
      expect((await send(id, { dry_run: true })).json.request_counts.total).toBe(3);
      expect((await get('')).first_id).toBe(before);
      const path = `/v1/admin/batches/${id}/retry`;
      const { json: seen } = await app.call('POST', path, {
        key: app.keys.admin,
        json: { codes: ['request_refused'], dry_run: true },
      });
      expect(seen.request_counts.total).toBe(2);
    });

    it('409: names the codes of the failures if none has them', async () => {
      const { id } = await endedWithCodes();
      const { status, json } = await send(id, { codes: ['upstream_timeout'] });
      expect([status, json.error.code, json.error.param]).toEqual([409, 'nothing_to_retry', 'codes']);
      expect(json.error.message).toContain('request_refused');
      expect(json.error.message).toContain('invalid_upstream_response');
    });

    it('422: an idempotency key with other codes, and an invalid body', async () => {
      const { id } = await endedWithCodes();
      const headers = { 'idempotency-key': `codes-${id}` };
      expect((await send(id, { codes: ['request_refused'] }, headers)).status).toBe(201);
      const other = await send(id, { codes: ['invalid_upstream_response'] }, headers);
      expect(other.json.error.code).toBe('idempotency_mismatch');
      for (const body of [{ codes: [] }, { codes: 'x' }, { code: ['x'] }, { codes: [1] }])
        expect((await send(id, body)).status).toBe(422);
    });
  });
});
