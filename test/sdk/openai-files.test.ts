import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine, chatLines, jsonl } from '../support/batch-lines.ts';
import { createClient, createLossyFetch, sdks } from './clients.ts';
import type { Client } from './clients.ts';

const folder = mkdtempSync(join(tmpdir(), 'offpeak-sdk-'));
const path = join(folder, 'requests.jsonl');
const content = jsonl(chatLines(20, (n) => `Übung ${n} 練習`));
const day = 86_400;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(sdks)('files through $name', ({ sdk }) => {
  let running: RunningApp;
  let client: Client;

  beforeAll(async () => {
    writeFileSync(path, content);
    running = await startApp({ files: { purposes: ['batch', 'user_data'] } });
    client = createClient(sdk, running);
  });

  afterAll(() => running?.stop());

  it('uploads a stream from disk', async () => {
    const file = await client.files.create({ file: createReadStream(path), purpose: 'batch' });
    expect(file).toMatchObject({
      object: 'file',
      filename: 'requests.jsonl',
      purpose: 'batch',
      status: 'processed',
      bytes: Buffer.byteLength(content),
    });
    expect(file.id).toMatch(/^file-/);
    expect(Math.abs(file.created_at - Date.now() / 1000)).toBeLessThan(60);
  });

  it('uploads bytes with an expiry and the fields in either order', async () => {
    const expires_after = { anchor: 'created_at', seconds: day } as const;
    const bytes = () => toFile(Buffer.from(content), 'bytes.jsonl');
    const first = await client.files.create({ file: await bytes(), purpose: 'batch', expires_after });
    const second = await client.files.create({ expires_after, purpose: 'batch', file: await bytes() });
    for (const file of [first, second]) {
      expect(file.filename).toBe('bytes.jsonl');
      expect(file.expires_at).toBe(file.created_at + day);
    }
    expect(first.id).not.toBe(second.id);
  });

  it('reads a file back byte for byte', async () => {
    const { id } = await client.files.create({ file: createReadStream(path), purpose: 'batch' });
    expect(await client.files.retrieve(id)).toMatchObject({ id, bytes: Buffer.byteLength(content) });
    const response = await client.files.content(id);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe(content);
    expect((await client.files.waitForProcessing(id)).status).toBe('processed');
  });

  it('lists page by page, in both orders', async () => {
    const made: string[] = [];
    for (let n = 0; n < 7; n++) {
      const file = await toFile(Buffer.from(jsonl([chatLine(`page-${n}`)])), `page-${n}.jsonl`);
      made.push((await client.files.create({ file, purpose: 'batch' })).id);
    }
    const names = async (order: 'asc' | 'desc') => {
      const ids: string[] = [];
      for await (const file of client.files.list({ limit: 3, order, purpose: 'batch' })) ids.push(file.id);
      return ids;
    };
    const ascending = await names('asc');
    expect(ascending.slice(-7)).toEqual(made);
    expect(await names('desc')).toEqual(ascending.toReversed());
    expect(new Set(ascending).size).toBe(ascending.length);
    const page = await client.files.list({ limit: 3 });
    expect(page.data).toHaveLength(3);
    expect(page.hasNextPage()).toBe(true);
  });

  it('deletes a file', async () => {
    const { id } = await client.files.create({ file: createReadStream(path), purpose: 'batch' });
    expect(await client.files.delete(id)).toMatchObject({ id, object: 'file', deleted: true });
    await expect(client.files.retrieve(id)).rejects.toThrow(sdk.NotFoundError);
    await expect(client.files.content(id)).rejects.toThrow(sdk.NotFoundError);
    await expect(client.files.delete(id)).rejects.toThrow(sdk.NotFoundError);
  });

  it('rejects a file with bad lines and lists each of them', async () => {
    const bad = `${jsonl([chatLine('a'), chatLine('a')])}{"custom_id": "c"\n`;
    const upload = client.files.create({
      file: await toFile(Buffer.from(bad), 'bad.jsonl'),
      purpose: 'batch',
    });
    const error = await upload.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(sdk.UnprocessableEntityError);
    const { error: body } = error as { error: { details: { errors: { line: number; code: string }[] } } };
    expect(body.details.errors.map(({ line, code }) => [line, code])).toEqual([
      [2, 'duplicate_custom_id'],
      [3, 'invalid_json_line'],
    ]);
  });

  it('stores any bytes as user_data', async () => {
    const bytes = Buffer.from([0x25, 0x50, 0x44, 0x46, 0x00, 0xff, 0x0a]);
    const file = await client.files.create({ file: await toFile(bytes, 'a.pdf'), purpose: 'user_data' });
    expect(file).toMatchObject({ purpose: 'user_data', filename: 'a.pdf', bytes: 7, status: 'processed' });
    const response = await client.files.content(file.id);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
    expect((await client.files.list({ purpose: 'user_data' })).data).toEqual([file]);
    expect(await client.files.delete(file.id)).toMatchObject({ deleted: true });
  });

  it('stores one file if the response to the upload is lost', async () => {
    const { fetch, retries } = createLossyFetch('/v1/files');
    const unlucky = createClient(sdk, { ...running, fetch, maxRetries: 2 });
    const unique = jsonl([chatLine(`lost-${retries.length}`, `lost by ${sdk.name}`)]);
    const before = (await client.files.list({ limit: 10_000 })).data.length;
    const file = await unlucky.files.create({
      file: await toFile(Buffer.from(unique), 'lost.jsonl'),
      purpose: 'batch',
    });
    expect(retries).toEqual(['0', '1']);
    const after = (await client.files.list({ limit: 10_000 })).data;
    expect(after.filter((each) => each.filename === 'lost.jsonl').map((each) => each.id)).toEqual([file.id]);
    expect(after).toHaveLength(before + 1);
  });
});
