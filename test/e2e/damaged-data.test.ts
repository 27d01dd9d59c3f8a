import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TestContext } from 'vitest';
import type { ErrorBody } from '../support/api.ts';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines, jsonl, parseLines } from '../support/batch-lines.ts';
import { until } from '../support/until.ts';

// Damaged files in the data folder. Wrong bytes are never returned.

async function start({ onTestFinished }: TestContext): Promise<RunningApp> {
  const running = await startApp();
  onTestFinished(() => running.stop());
  return running;
}

/** Returns the path of the blob with exactly these bytes. */
function blobOf(running: RunningApp, content: string): string {
  const folder = join(running.data, 'blobs');
  const found = readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .find((path) => statSync(path).isFile() && readFileSync(path).equals(Buffer.from(content)));
  if (found === undefined) throw new Error('no blob has this content');
  return found;
}

function flipOneBit(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
}

const damages: [string, (path: string) => void][] = [
  ['a bit flipped', flipOneBit],
  ['its end cut off', (path) => truncateSync(path, 100)],
  ['gone', (path) => rmSync(path)],
];

describe.each(damages)('F52: a file with %s', (_, damage) => {
  it('returns 500 with its request ID, never wrong bytes, and the server continues', async (context) => {
    const running = await start(context);
    const { api } = running;
    const content = jsonl(chatLines(50));
    const file = await api.upload(content);
    const healthy = await api.upload(jsonl(chatLines(5)));
    damage(blobOf(running, content));
    const { status, text, headers } = await api.send(`/v1/files/${file.id}/content`);
    expect(status).toBe(500);
    const { error, request_id } = JSON.parse(text) as ErrorBody;
    expect(error.code).toBe('storage_damaged');
    expect(request_id).toBe(headers.get('x-request-id'));
    expect(text).not.toMatch(/blob|\/tmp|sha/i);
    expect((await api.send(`/v1/files/${file.id}`)).status).toBe(200);
    expect((await api.send(`/v1/files/${healthy.id}/content`)).status).toBe(200);
  });
});

describe.each(damages)('F52: a result file with %s', (_, damage) => {
  it('returns 500 wherever it is read, never too few lines, and the server continues', async (context) => {
    const running = await start(context);
    const { api } = running;
    const input = await api.upload(jsonl(chatLines(50)));
    const { id } = await api.createBatch(input.id);
    const batch = await api.finished(id);
    const { text: whole } = await api.results(id, 'output');
    expect(parseLines(whole)).toHaveLength(50);
    damage(blobOf(running, whole));
    // Until its rows are removed, the lines come from the database.
    await until('the file is read', async () => (await api.send(`/v1/batches/${id}/output`)).text !== whole);
    const paths = [
      `/v1/batches/${id}/output`,
      `/v1/batches/${id}/output?after=20`,
      `/v1/files/${batch.output_file_id}/content`,
    ];
    for (const path of paths) {
      const { status, text, headers } = await api.send(path);
      expect([path, status]).toEqual([path, 500]);
      const { error, request_id } = JSON.parse(text) as ErrorBody;
      expect(error.code).toBe('storage_damaged');
      expect(request_id).toBe(headers.get('x-request-id'));
      expect(headers.get('x-last-line')).toBeNull();
    }
    expect((await api.send(`/v1/batches/${id}`)).status).toBe(200);
    expect((await api.send(`/v1/files/${input.id}/content`)).status).toBe(200);
  });
});

describe('a file with content of another length', () => {
  it.for<[string, (whole: string) => string]>([
    ['shorter', (whole) => whole.slice(0, -10)],
    ['longer', (whole) => `${whole}{}`],
  ])('%s: is rejected for a batch, with the reason', async ([name, damage], context) => {
    const running = await start(context);
    const { api } = running;
    const content = jsonl(chatLines(20, (n) => `a file of another length, ${name}, ${n}`));
    const file = await api.upload(content);
    const path = blobOf(running, content);
    writeFileSync(path, damage(readFileSync(path, 'utf8')));
    const { status, text } = await api.send('/v1/batches', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        input_file_id: file.id,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      }),
    });
    expect([status, (JSON.parse(text) as ErrorBody).error.code]).toEqual([500, 'storage_damaged']);
  });
});

// Both wait until reading the input has failed for some seconds.
describe.concurrent('a batch with a line whose bytes were changed', () => {
  it('fails and never sends the changed request', async (context) => {
    const running = await start(context);
    const { api } = running;
    const content = jsonl(chatLines(40, (n) => `[[delay 20]] ask ${n} in peace`));
    const file = await api.upload(content);
    const path = blobOf(running, content);
    // Still valid JSON, with another word.
    writeFileSync(path, readFileSync(path, 'utf8').replace('ask 33 in peace', 'ask 33 in anger'));
    const { id } = await api.createBatch(file.id);
    const batch = await api.finished(id);
    expect(batch.status).toBe('failed');
    expect(batch.request_counts.completed + batch.request_counts.failed).toBe(40);
    expect((await api.results(id, 'output')).text).not.toContain('anger');
  });
});

describe.concurrent('a batch whose input is missing', () => {
  it('fails as a whole with the reason, and every line has a result', async (context) => {
    const running = await start(context);
    const { api } = running;
    const content = jsonl(chatLines(400, (n) => `[[delay 50]] ${n}`));
    const file = await api.upload(content);
    const path = blobOf(running, content);
    const { id } = await api.createBatch(file.id);
    rmSync(path);
    const batch = await api.finished(id);
    const { total, completed, failed } = batch.request_counts;
    expect(batch.status).toBe('failed');
    expect([total, completed + failed]).toEqual([400, 400]);
    expect(failed).toBeGreaterThan(0);
    expect(batch.errors?.data).toMatchObject([{ code: 'batch_failed', message: expect.any(String) }]);
    const errors = parseLines((await api.results(id, 'errors')).text);
    expect(new Set(errors.map((line) => line.error!.code))).toEqual(new Set(['batch_failed']));
    expect(errors).toHaveLength(failed);
  });
});
