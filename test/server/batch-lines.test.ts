import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { indexName } from '../../src/files/upload.ts';
import { blobKey } from '../../src/blobs/names.ts';
import { chatLine } from './support/jsonl.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const finals = ['completed', 'failed', 'cancelled', 'expired'];
const get = async (path: string, key = app.keys.a): Promise<Json> =>
  (await app.call('GET', `/v1/batches/${path}`, { key })).json;
const linesOf = (id: string, query = '') => get(`${id}/lines${query}`);
const numbers = ({ data }: Json): number[] => data.map((line: Json) => line.line);

async function create(contents: readonly string[]): Promise<string> {
  const requests = contents.map((content, n) => chatLine(n, 'tiny', content));
  const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
  return (await app.call('POST', '/v1/batches', { json })).json.id;
}

async function ended(contents: readonly string[]): Promise<string> {
  const id = await create(contents);
  await expect.poll(async () => finals.includes((await get(id)).status)).toBe(true);
  return id;
}

const retried = async (id: string): Promise<string> => {
  const { json } = await app.call('POST', `/v1/batches/${id}/retry`);
  await expect.poll(async () => finals.includes((await get(json.id)).status)).toBe(true);
  return json.id;
};

describe('GET /v1/batches/{id}/lines', () => {
  it('200: shows states, results, costs and texts, while the batch runs and after its end', async () => {
    const contents = ['Wörter zählen', '[[fail 400]] no', '[[hang]] stay', 'four'];
    const id = await create(contents);
    await expect.poll(async () => (await get(id)).request_counts).toMatchObject({ completed: 2, failed: 1 });
    const running = await linesOf(id);
    expect(running.data.map(({ state }: Json) => state)).toEqual([
      'completed',
      'failed',
      'in_flight',
      'completed',
    ]);
    expect(running).toMatchObject({ object: 'list', has_more: false, next_after: null });
    expect(running.data[0]).toMatchObject({
      object: 'batch.line',
      line: 1,
      custom_id: 'c0',
      status_code: 200,
      error: null,
      model: 'tiny',
      attempts: 1,
      failed_attempts: [],
      preview: { input: 'Wörter zählen' },
    });
    expect(running.data[0].replica_id).toMatch(/^rep_/);
    expect(running.data[0].preview.output).not.toBe('');
    expect(Number(running.data[0].cost.amount)).toBeGreaterThan(0);
    expect(running.data[1]).toMatchObject({
      state: 'failed',
      status_code: 400,
      error: { code: 'request_refused' },
      cost: { amount: '0' },
    });
    expect(running.data[2]).toMatchObject({ status_code: null, usage: null, attempts: null, model: 'tiny' });
    await app.call('POST', `/v1/batches/${id}/cancel`);
    await expect.poll(async () => (await get(id)).status).toBe('cancelled');
    const after = await linesOf(id);
    expect([after.data[0], after.data[1], after.data[3]]).toEqual([
      running.data[0],
      running.data[1],
      running.data[3],
    ]);
    expect(after.data[2]).toMatchObject({ state: 'failed', error: { code: 'batch_cancelled' }, cost: null });
  });

  it('200: pages by line number, from any line', async () => {
    const id = await ended(Array.from({ length: 25 }, (_, n) => `line ${n} [[tokens 1]]`));
    const first = await linesOf(id, '?limit=10');
    expect([numbers(first)[0], numbers(first).at(-1), first.has_more, first.next_after]).toEqual([
      1,
      10,
      true,
      10,
    ]);
    const last = await linesOf(id, '?limit=10&after=20');
    expect([numbers(last), last.has_more]).toEqual([[21, 22, 23, 24, 25], false]);
    expect(numbers(await linesOf(id, '?after=25'))).toEqual([]);
  });

  it('200: filters by state, code, custom_id and text', async () => {
    const contents = ['an Apple\\"tree', '[[fail 400]] apple', '[[fail invalid]] pear', 'plum'];
    const id = await ended(contents);
    expect(numbers(await linesOf(id, '?state=failed'))).toEqual([2, 3]);
    expect(numbers(await linesOf(id, '?code=request_refused'))).toEqual([2]);
    expect(numbers(await linesOf(id, '?custom_id=c3'))).toEqual([4]);
    expect(numbers(await linesOf(id, '?q=APPLE'))).toEqual([1, 2]);
    expect(numbers(await linesOf(id, `?q=${encodeURIComponent('apple\\"tree')}`))).toEqual([1]);
    expect(numbers(await linesOf(id, '?q=apple&state=completed'))).toEqual([1]);
    expect(numbers(await linesOf(id, '?q=c2'))).toEqual([3]);
    // "user" is a role, not a text.
    expect(numbers(await linesOf(id, '?q=user'))).toEqual([]);
    const paged = await linesOf(id, '?q=apple&limit=1');
    expect([numbers(paged), paged.has_more]).toEqual([[1], true]);
    expect(numbers(await linesOf(id, `?q=apple&limit=1&after=${paged.next_after}`))).toEqual([2]);
  });

  it('200: repeats a sample by its seed', async () => {
    const id = await ended(Array.from({ length: 60 }, (_, n) => `line ${n} [[tokens 1]]`));
    const first = await linesOf(id, '?sample=5');
    expect(numbers(first)).toHaveLength(5);
    expect(numbers(first)).toEqual(numbers(first).toSorted((a, b) => a - b));
    expect(numbers(await linesOf(id, `?sample=5&seed=${first.seed}`))).toEqual(numbers(first));
    const others = new Set<string>();
    for (let seed = 0; seed < 8; seed++)
      others.add(String(numbers(await linesOf(id, `?sample=5&seed=${seed}`))));
    expect(others.size).toBeGreaterThan(6);
    expect(numbers(await linesOf(id, '?sample=200&state=failed'))).toEqual([]);
  });

  it('200: keeps the failed attempts of a line, whatever it ended with', async () => {
    const id = await ended([`${Math.random()} [[fail invalid 1]]`, `${Math.random()} [[fail invalid]]`]);
    const { data } = await linesOf(id);
    expect(data[0]).toMatchObject({
      state: 'completed',
      attempts: 2,
      failed_attempts: [{ code: 'invalid_upstream_response' }],
    });
    expect(data[0].failed_attempts[0].replica_id).toMatch(/^rep_/);
    expect(data[1].state).toBe('failed');
    expect(data[1].failed_attempts).toHaveLength(data[1].attempts);
  });

  it.each(['missing', 'damaged'])(
    '200: reads results whose index is %s, as of earlier versions',
    async (how) => {
      const id = await ended(['one', '[[fail 400]] two', 'three']);
      const batch = (await app.store.batches.find(id))!;
      for (const fileId of [batch.outputFileId!, batch.errorFileId!]) {
        const name = indexName((await app.store.files.find(fileId))!.blobId);
        const path = join(app.folder, blobKey(name));
        if (how === 'missing') await rm(path);
        else await writeFile(path, 'no index\n');
      }
      const { data } = await linesOf(id);
      expect(data).toMatchObject([
        {
          line: 1,
          custom_id: 'c0',
          state: 'completed',
          usage: { output_tokens: expect.any(Number) },
          cost: null,
        },
        { line: 2, state: 'failed', error: { code: 'request_refused' }, attempts: 1 },
        { line: 3, state: 'completed', preview: { input: 'three' } },
      ]);
      expect(data[0].usage.output_tokens).toBeGreaterThan(0);
    },
  );

  it('404: for another org, and once a result file is gone', async () => {
    const id = await ended(['one']);
    expect((await app.call('GET', `/v1/batches/${id}/lines`, { key: app.keys.b })).status).toBe(404);
    const { output_file_id: file } = await get(id);
    await app.call('DELETE', `/v1/files/${file}`);
    const { status, json } = await app.call('GET', `/v1/batches/${id}/lines`);
    expect([status, json.error.code]).toEqual([404, 'not_found']);
    expect(json.error.message).toContain('output file');
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=501', 'limit'],
    ['after=-1', 'after'],
    ['state=done', 'state'],
    ['sample=0', 'sample'],
    ['sample=5&q=x', 'q'],
    ['seed=1', 'seed'],
    [`q=${'x'.repeat(201)}`, 'q'],
    ['foo=1', 'foo'],
  ])('422: %s', async (query, param) => {
    const id = await ended(['one']);
    const { status, json } = await app.call('GET', `/v1/batches/${id}/lines?${query}`);
    expect([status, json.error.param]).toEqual([422, param]);
  });
});

describe('GET /v1/batches/{id}/lines/{line}', () => {
  it('200: shows the bodies with every digit, by number and by custom_id', async () => {
    const body =
      '{"model":"tiny","messages":[{"role":"user","content":"hi"}],"metadata":{"n":12345678901234567890}}';
    const line = `{"custom_id":"a/b ü","method":"POST","url":"/v1/chat/completions","body":${body}}`;
    const text = `{"endpoint":"/v1/chat/completions","completion_window":"24h","requests":[${line}]}`;
    const { json } = await app.call('POST', '/v1/batches', {
      body: text,
      headers: { 'content-type': 'application/json' },
    });
    await expect.poll(async () => (await get(json.id)).status).toBe('completed');
    const found = await app.call('GET', `/v1/batches/${json.id}/lines/1`);
    expect(found.text).toContain(`"input":${body}`);
    expect(found.json.output.choices[0].message.role).toBe('assistant');
    expect(found.json.original).toBeNull();
    const named = await app.call('GET', `/v1/batches/${json.id}/lines/${encodeURIComponent('a/b ü')}`);
    expect(named.text).toBe(found.text);
    for (const name of ['0', '2', 'nobody'])
      expect((await app.call('GET', `/v1/batches/${json.id}/lines/${name}`)).json.error.message).toBe(
        'No such line.',
      );
  });

  it('200: shows the line that a retry runs again', async () => {
    const flaky = `${Math.random()} [[fail 400 1]]`;
    const id = await ended(['fine', flaky]);
    const again = await retried(id);
    const { json } = await app.call('GET', `/v1/batches/${again}/lines/1`);
    expect(json).toMatchObject({
      custom_id: 'c1',
      state: 'completed',
      original: {
        batch_id: id,
        line: 2,
        state: 'failed',
        error: { code: 'request_refused' },
      },
    });
    expect(json.original.input).toEqual(json.input);
    expect([json.output === null, json.original.output?.choices]).toEqual([false, undefined]);
  });
});

describe('the lines of an operator', () => {
  it('200: have servers, and neither prompts nor answers nor messages', async () => {
    const id = await ended(['secret words', `${Math.random()} [[fail 400]] hidden`]);
    const list = await app.call('GET', `/v1/admin/batches/${id}/lines`, { key: app.keys.admin });
    const one = await app.call('GET', `/v1/admin/batches/${id}/lines/1`, { key: app.keys.admin });
    expect([list.status, one.status]).toEqual([200, 200]);
    expect(list.json.data[0].server).not.toBe('');
    expect(list.json.data[1].error).toEqual({ code: 'request_refused' });
    for (const { text } of [list, one]) {
      expect(text).not.toContain('secret');
      expect(text).not.toContain('hidden');
      expect(text).not.toContain('preview');
      expect(text).not.toContain('"message"');
    }
    const search = await app.call('GET', `/v1/admin/batches/${id}/lines?q=secret`, { key: app.keys.admin });
    expect([search.status, search.json.error.param]).toEqual([422, 'q']);
    const own = await app.call('GET', `/v1/admin/batches/${id}/lines`);
    expect(own.status).toBe(403);
  });
});
