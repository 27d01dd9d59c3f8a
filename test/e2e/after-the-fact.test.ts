import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ListBody } from '../support/api.ts';
import { createApi } from '../support/api.ts';
import { startApp, testModel } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines, parseLines } from '../support/batch-lines.ts';

// Batches whose key or result file is removed later.

let running: RunningApp;

beforeAll(async () => {
  running = await startApp({
    models: [testModel({ kind: 'scripted', slots: 2, delayMs: 10 })],
    keys: [{ org: 'default', scopes: ['admin'] }, { org: 'default' }],
  });
});

afterAll(() => running?.stop());

it('F47: a revoked key is rejected at once, and its batch continues', async () => {
  const admin = createApi(running.url, running.keys[0]!);
  const api = createApi(running.url, running.keys[1]!);
  const { id } = await api.createBatch({ requests: chatLines(60) });
  const keys = await admin.get<ListBody<{ id: string; prefix: string }>>('/v1/admin/keys');
  const own = keys.data.find(({ prefix }) => running.keys[1]!.startsWith(prefix.split('...')[0]!))!;
  expect((await admin.send(`/v1/admin/keys/${own.id}`, { method: 'DELETE' })).status).toBe(200);
  expect((await api.send(`/v1/batches/${id}`)).status).toBe(401);
  // Another key of the same org.
  const batch = await running.api.finished(id);
  expect(batch.request_counts).toEqual({ total: 60, completed: 60, failed: 0 });
});

it('F17: a deleted result file returns 404, and its batch stays readable', async () => {
  const { api } = running;
  const { id } = await api.createBatch({ requests: chatLines(5) });
  const before = await api.finished(id);
  const path = `/v1/files/${before.output_file_id}`;
  expect(parseLines((await api.send(`${path}/content`)).text)).toHaveLength(5);
  expect((await api.send(path, { method: 'DELETE' })).status).toBe(200);
  expect((await api.send(`${path}/content`)).status).toBe(404);
  expect(await api.batch(id)).toEqual(before);
  const gone = await api.results(id, 'output');
  expect([gone.status, gone.text.includes('deleted')]).toEqual([404, true]);
});
