import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines, jsonl } from '../support/batch-lines.ts';
import { until } from '../support/until.ts';

// C30: deleted data is in no file of the data folder.

let running: RunningApp;
beforeEach(async () => {
  running = await startApp();
});
afterEach(() => running.stop());

const canary = 'canary-in-the-coal-mine';

/** Returns the files of the data folder that contain the canary. */
function holding(): string[] {
  return readdirSync(running.data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(canary));
}

it('deleted files of a batch and a deleted response leave no text behind', async () => {
  const { api, app } = running;
  const remove = (path: string) => api.send(path, { method: 'DELETE' });
  const input = await api.upload(jsonl(chatLines(200, (n) => `${canary} ${n} ${'x'.repeat(n * 40)}`)));
  const { id } = await api.createBatch(input.id);
  const batch = await api.finished(id);
  const body = JSON.stringify({ model: 'tiny', input: `${canary} ${'y'.repeat(9_000)}` });
  const headers = { 'content-type': 'application/json' };
  const made = await api.send('/v1/responses', { method: 'POST', headers, body });
  const response = JSON.parse(made.text) as { id: string };
  expect(holding()).not.toEqual([]);
  // The rows are removed some time after the batch has ended.
  await until('the results are read from their file', async () => {
    expect((await remove(`/v1/files/${batch.output_file_id}`)).status).toBeLessThan(500);
    return (await api.send(`/v1/batches/${id}/output`)).status === 404;
  });
  expect((await remove(`/v1/files/${input.id}`)).status).toBe(200);
  expect((await remove(`/v1/responses/${response.id}`)).status).toBe(200);
  await app.stop();
  expect(holding()).toEqual([]);
});
