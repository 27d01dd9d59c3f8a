import { inspect } from 'node:util';
import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLines } from './support/jsonl.ts';
import { multipart, type Part, uploadForm } from './support/multipart.ts';
import { openRaw } from './support/raw-http.ts';
import {
  type CallResult,
  type CallOptions,
  type Json,
  type RunningServer,
  startServer,
  testLimits,
} from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const create = (
  form: { body: Uint8Array; headers: Record<string, string> },
  how: CallOptions = {},
): Promise<CallResult> =>
  app.call('POST', '/v1/files', {
    ...how,
    body: form.body as NonNullable<RequestInit['body']>,
    headers: { ...form.headers, ...how.headers },
  });

const upload = async (content: string, filename?: string): Promise<string> => {
  const { status, json } = await create(uploadForm(content, filename));
  expect(status).toBe(201);
  return json.id as string;
};

/** Returns the names of blobs and temporary files on disk. */
async function stored(): Promise<string[]> {
  const entries = await readdir(app.folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

const file = (value = chatLines(2), filename: string | null = 'in.jsonl'): Part => ({
  name: 'file',
  value,
  filename,
});
const purpose: Part = { name: 'purpose', value: 'batch' };
const anchor: Part = { name: 'expires_after[anchor]', value: 'created_at' };
const seconds = (value: string): Part => ({ name: 'expires_after[seconds]', value });

describe('POST /v1/files', () => {
  it('201: returns a file resource', async () => {
    const content = chatLines(3);
    const { status, json } = await create(uploadForm(content));
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^file-[0-9a-f]{32}$/),
      object: 'file',
      bytes: content.length,
      created_at: expect.any(Number),
      filename: 'in.jsonl',
      purpose: 'batch',
      status: 'processed',
      warnings: [],
    });
  });

  it('201: accepts fields after the file, in any order, chunked and without a length', async () => {
    const form = multipart([seconds('3600'), file(), anchor, purpose]);
    const body = new Blob([form.body]).stream();
    const { status, json } = await app.call('POST', '/v1/files', { body, headers: form.headers });
    expect(status).toBe(201);
    expect(json.expires_at - json.created_at).toBe(3600);
  });

  it('201: accepts the FormData of the platform, and unknown fields', async () => {
    const form = new FormData();
    form.set('model', 'whatever');
    form.set('file', new Blob([chatLines(1)]), 'a "quoted" 日本.jsonl');
    form.set('purpose', 'batch');
    const { status, json } = await app.call('POST', '/v1/files', { body: form });
    expect(status).toBe(201);
    expect(json.filename).toBe('a "quoted" 日本.jsonl');
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\data\\in.jsonl', 'in.jsonl'],
    ['\u202egnp.jsonl', 'gnp.jsonl'],
    ['x'.repeat(300), 'x'.repeat(255)],
    [null, 'upload.jsonl'],
    ['', 'upload.jsonl'],
  ])('201: stores the filename %j as %j', async (sent, kept) => {
    const { status, json } = await create(multipart([purpose, file(chatLines(1), sent)]));
    expect([status, json.filename]).toEqual([201, kept]);
  });

  it.each<[string, Part[], string | null]>([
    ['no file', [purpose], 'file'],
    ['no purpose', [file()], 'purpose'],
    ['nothing', [], 'purpose'],
    ['two files', [purpose, file(), file()], 'file'],
    ['a file under another name', [purpose, { ...file(), name: 'document' }], 'document'],
    ['purpose twice', [purpose, purpose, file()], 'purpose'],
    ['an unknown purpose', [{ ...purpose, value: 'fine-tune' }, file()], 'purpose'],
    ['the purpose of results', [file(), { ...purpose, value: 'batch_output' }], 'purpose'],
    ['an anchor without seconds', [purpose, anchor, file()], 'expires_after[seconds]'],
    ['seconds without an anchor', [purpose, file(), seconds('3600')], 'expires_after[anchor]'],
    [
      'an expiry as JSON',
      [purpose, { name: 'expires_after', value: '{"anchor":"created_at","seconds":3600}' }, file()],
      'expires_after',
    ],
    [
      'another anchor',
      [purpose, { ...anchor, value: 'now' }, seconds('3600'), file()],
      'expires_after[anchor]',
    ],
    ['3599 seconds', [purpose, anchor, seconds('3599'), file()], 'expires_after[seconds]'],
    ['2592001 seconds', [purpose, anchor, seconds('2592001'), file()], 'expires_after[seconds]'],
    ['1e4 seconds', [purpose, anchor, seconds('1e4'), file()], 'expires_after[seconds]'],
    ['fractional seconds', [purpose, anchor, seconds('3600.5'), file()], 'expires_after[seconds]'],
    [
      'too many parts',
      [purpose, ...Array.from({ length: 40 }, (_, n) => ({ name: `f${n}`, value: 'x' })), file()],
      null,
    ],
    [
      'ten thousand parts',
      [purpose, ...Array.from({ length: 10_000 }, (_, n) => ({ name: `f${n}`, value: '' }))],
      null,
    ],
    ['a field name of 1 MB', [purpose, { name: 'n'.repeat(1_000_000), value: 'x' }, file()], null],
    ['a field value of 1 MB', [{ ...purpose, value: 'b'.repeat(1_000_000) }, file()], null],
    ['a field named __proto__', [purpose, { name: '__proto__', value: 'x' }, file()], null],
    ['a filename with a NUL', [purpose, file(chatLines(1), 'a\0b')], 'file'],
  ])('422: %s', async (_name, parts, param) => {
    const before = await stored();
    const { status, json } = await create(multipart(parts));
    expect(status).toBe(422);
    if (param !== null) expect(json.error.param).toBe(param);
    expect(json.error.message).toMatch(/\w/);
    expect(await stored()).toEqual(before);
  });

  it('422: a missing final boundary, in a field and in the file; a wrong boundary; none', async () => {
    const before = await stored();
    expect((await create(multipart([purpose, file()], { end: false }))).status).toBe(422);
    expect((await create(multipart([file(), purpose], { end: false }))).status).toBe(422);
    const form = uploadForm(chatLines(1));
    expect(
      (await create({ ...form, headers: { 'content-type': 'multipart/form-data; boundary=other' } })).status,
    ).toBe(422);
    expect((await create({ ...form, headers: { 'content-type': 'multipart/form-data' } })).status).toBe(422);
    expect((await create({ body: new Uint8Array(), headers: form.headers })).status).toBe(422);
    expect(await stored()).toEqual(before);
  });

  it('422: reports every bad line with its number and stores nothing', async () => {
    const before = await stored();
    const { status, json } = await create(uploadForm(`${chatLines(2)}{"custom_id":"x"}\n[]\nnot json\n`));
    expect(status).toBe(422);
    expect(new Set(json.error.details.errors.map((error: { line: number }) => error.line))).toEqual(
      new Set([3, 4, 5]),
    );
    expect(await stored()).toEqual(before);
  });

  it('422: an empty file, and one request too many; accepts the exact maximum', async () => {
    expect((await create(uploadForm(''))).json.error.code).toBe('empty_file');
    expect((await create(uploadForm(chatLines(testLimits.requestsPerBatch + 1)))).json.error.code).toBe(
      'too_many_tasks',
    );
    expect((await create(uploadForm(chatLines(testLimits.requestsPerBatch)))).status).toBe(201);
  });

  it('201 for the maximum size, 413 for one byte more', async () => {
    const line = chatLines(1);
    const exact = line + '\n'.repeat(testLimits.bytesPerBatch - line.length);
    expect((await create(uploadForm(exact))).json.bytes).toBe(testLimits.bytesPerBatch);
    expect((await create(uploadForm(`${exact}\n`))).json.error.code).toBe('payload_too_large');
  });

  it('413: as soon as the maximum is exceeded, for an endless upload', async () => {
    const before = await stored();
    const connection = await openRaw(app.url);
    connection.write(
      `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const send = (text: string) => connection.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
    send('--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n');
    for (let sent = 0; sent <= testLimits.bytesPerBatch; sent += 100_000) send('\n'.repeat(100_000));
    expect(await connection.until('"request_id"')).toMatch(/^HTTP\/1.1 413 /);
    connection.socket.destroy();
    expect(await stored()).toEqual(before);
  });

  it('stores nothing when the client disconnects', async () => {
    const before = await stored();
    const connection = await openRaw(app.url);
    const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n';
    connection.write(
      `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n${head}${chatLines(3)}`,
    );
    await expect.poll(async () => (await stored()).length).toBe(before.length + 1);
    connection.socket.destroy();
    await expect.poll(stored).toEqual(before);
  });

  it('415: JSON, and a compressed form', async () => {
    expect((await app.call('POST', '/v1/files', { json: { purpose: 'batch' } })).status).toBe(415);
    expect((await create(uploadForm(chatLines(1)), { headers: { 'content-encoding': 'gzip' } })).status).toBe(
      415,
    );
  });
});

describe('a repeated POST /v1/files', () => {
  it('201: returns the first file for the same Idempotency-Key; 422 for a different body', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await create(uploadForm(chatLines(2)), { headers });
    const form = multipart([file(), purpose]);
    const boundary = 'another';
    const again = await create(
      {
        body: Buffer.from(Buffer.from(form.body).toString().replaceAll('offpeak-test-boundary', boundary)),
        headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      },
      { headers },
    );
    expect([again.status, again.json.id]).toEqual([201, first.json.id]);
    expect(first.headers.has('idempotent-replayed')).toBe(false);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const other = await create(uploadForm(chatLines(3)), { headers });
    expect([other.status, other.json.error.code]).toEqual([422, 'idempotency_mismatch']);
    const renamed = await create(uploadForm(chatLines(2), 'other.jsonl'), { headers });
    expect(renamed.status).toBe(422);
  });

  it('201: separates the keys of different orgs', async () => {
    const headers = { 'idempotency-key': 'shared' };
    const first = await create(uploadForm(chatLines(1)), { headers });
    const second = await create(uploadForm(chatLines(1)), { headers, key: app.keys.b });
    expect(second.status).toBe(201);
    expect(second.json.id).not.toBe(first.json.id);
  });

  it('201: detects an automatic retry of an SDK, and nothing else', async () => {
    const form = uploadForm(chatLines(2, { content: (n) => `twin ${n}` }));
    const first = await create(form);
    const retried = await create(form, { headers: { 'x-stainless-retry-count': '1' } });
    expect(retried.json.id).toBe(first.json.id);
    const meant = await create(form, { headers: { 'x-stainless-retry-count': '0' } });
    expect(meant.json.id).not.toBe(first.json.id);
  });

  it('422: an Idempotency-Key of 256 characters, before anything is stored', async () => {
    const before = await stored();
    const { status, json } = await create(uploadForm(chatLines(1)), {
      headers: { 'idempotency-key': 'x'.repeat(256) },
    });
    expect([status, json.error.param]).toEqual([422, 'Idempotency-Key']);
    expect(await stored()).toEqual(before);
  });
});

describe('GET /v1/files/{id}/content', () => {
  it('200, C09: returns the same bytes as a download that no browser renders', async () => {
    const content = `\ufeff${chatLines(3).replaceAll('\n', '\r\n')}\r\n`;
    const id = await upload(content, '日本%22x.html');
    const response = await fetch(`${app.url}/v1/files/${id}/content`, {
      headers: { authorization: `Bearer ${app.keys.a}`, accept: 'application/binary' },
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(
      createHash('sha256').update(content).digest('hex'),
    );
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(bytes.length),
      'content-disposition': expect.stringMatching(
        /^attachment; filename="[^"\\]*(\\"[^"]*)*"; filename\*=UTF-8''%E6%97%A5%E6%9C%AC%22x\.html$/,
      ),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
    });
  });

  it('200: HEAD returns the headers without a body', async () => {
    const id = await upload(chatLines(2));
    const { status, headers, text } = await app.call('HEAD', `/v1/files/${id}/content`);
    expect([status, text, headers.get('content-length')]).toEqual([200, '', String(chatLines(2).length)]);
    expect(headers.get('accept-ranges')).toBe('bytes');
  });

  describe('with a range', () => {
    const ask = (id: string, headers: Record<string, string>, method = 'GET') =>
      app.call(method, `/v1/files/${id}/content`, { headers });

    // A small file, one larger than the buffer, and one of several chunks.
    it.each([2, 20])('206: a range of a file with %i lines', async (lines) => {
      const content = chatLines(lines, { content: () => 'word '.repeat(15_000) });
      const size = content.length;
      const id = await upload(content);
      for (const [range, start, end] of [
        ['bytes=10-19', 10, 20],
        [`bytes=${size - 5}-`, size - 5, size],
        ['bytes=-7', size - 7, size],
        [`bytes=1-${size}`, 1, size],
      ] as const) {
        const { status, headers, text } = await ask(id, { range });
        expect([status, text === content.slice(start, end)]).toEqual([206, true]);
        expect(headers.get('content-length')).toBe(String(end - start));
        expect(headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${size}`);
        expect(headers.get('content-disposition')).toContain('attachment');
      }
    });

    it('206 or 200: depending on If-Range', async () => {
      const content = chatLines(2);
      const id = await upload(content);
      const { headers } = await ask(id, {}, 'HEAD');
      const asked = (tag: string) => ask(id, { range: 'bytes=0-4', 'if-range': tag });
      expect((await asked(headers.get('etag')!)).text).toBe(content.slice(0, 5));
      const other = await asked('"other"');
      expect([other.status, other.text]).toEqual([200, content]);
    });

    it('200: returns the whole file for several ranges, and ignores ranges on HEAD', async () => {
      const content = chatLines(1);
      const id = await upload(content);
      const several = await ask(id, { range: 'bytes=0-1,4-5' });
      expect([several.status, several.text]).toEqual([200, content]);
      const head = await ask(id, { range: 'bytes=0-1' }, 'HEAD');
      expect([head.status, head.headers.get('content-length')]).toEqual([200, String(content.length)]);
    });

    it('416: a range after the end, with the size', async () => {
      const content = chatLines(1);
      const id = await upload(content);
      const { status, headers, json } = await ask(id, { range: `bytes=${content.length}-` });
      expect([status, json.error.code]).toEqual([416, 'range_not_satisfiable']);
      expect(headers.get('content-range')).toBe(`bytes */${content.length}`);
    });
  });
});

describe('a damaged blob', () => {
  const download = (id: string) =>
    fetch(`${app.url}/v1/files/${id}/content`, { headers: { authorization: `Bearer ${app.keys.a}` } });

  const flipOneBit = async (path: string) => {
    const bytes = await readFile(path);
    bytes[bytes.length - 100]! ^= 1;
    await writeFile(path, bytes);
  };

  const damaged = async (
    content: string,
    damage: (path: string) => Promise<void>,
    before: (id: string) => Promise<void> = async () => {},
  ) => {
    const id = await upload(content);
    await before(id);
    const { blobId } = (await app.store.files.find(id))!;
    const entries = await readdir(app.folder, { recursive: true });
    const path = entries.find((entry) => entry.endsWith(blobId));
    await damage(join(app.folder, path!));
    const response = await download(id);
    const requestId = response.headers.get('x-request-id');
    /** Error log entries with the ID of the request, including their causes. */
    const logged = () =>
      app.logged
        .filter(({ level, fields }) => level === 'error' && fields['request_id'] === requestId)
        .map(({ fields }) => inspect(fields))
        .join();
    return { id, blobId, response, logged };
  };

  it('500: a missing blob, logged with the request that found it', async () => {
    const { id, blobId, response, logged } = await damaged(chatLines(1), (path) => rm(path));
    expect(response.status).toBe(500);
    expect(response.headers.get('content-disposition')).toBeNull();
    expect(((await response.json()) as Json).error.code).toBe('storage_damaged');
    await expect.poll(logged).toContain(`${id} (${blobId})`);
  });

  it('500: a longer blob, before the first byte', async () => {
    const content = chatLines(20, { content: () => 'word '.repeat(15_000) });
    const { id, blobId, response, logged } = await damaged(content, flipOneBit);
    expect(response.status).toBe(500);
    expect(((await response.json()) as Json).error.code).toBe('storage_damaged');
    await expect.poll(logged).toContain(`${id} (${blobId})`);
  });

  it('breaks off if it was damaged after an earlier read, and returns 500 from then on', async () => {
    const content = chatLines(20, { content: () => 'word '.repeat(15_000) });
    const { id, blobId, response, logged } = await damaged(content, flipOneBit, async (whole) => {
      expect((await (await download(whole)).text()).length).toBe(content.length);
    });
    expect(content.length).toBeGreaterThan(1 << 20);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    await expect.poll(logged).toContain(`${id} (${blobId})`);
    expect((await download(id)).status).toBe(500);
  });
});

describe('GET and DELETE /v1/files/{id}', () => {
  it('200, and 404 after deletion', async () => {
    const id = await upload(chatLines(1));
    expect((await app.call('GET', `/v1/files/${id}`)).json.id).toBe(id);
    const deleted = await app.call('DELETE', `/v1/files/${id}`);
    expect([deleted.status, deleted.json]).toEqual([200, { id, object: 'file', deleted: true }]);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/content'],
      ['DELETE', ''],
    ] as const)
      expect((await app.call(method, `/v1/files/${id}${path}`)).status).toBe(404);
  });

  it('F15: 409 for a file that an unfinished batch reads, with x-should-retry: false', async () => {
    const id = await upload(chatLines(1, { content: () => '[[hang]]' }));
    const batch = await app.call('POST', '/v1/batches', {
      json: { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: id },
    });
    const { status, headers, json } = await app.call('DELETE', `/v1/files/${id}`);
    expect([status, json.error.code, headers.get('x-should-retry')]).toEqual([409, 'file_in_use', 'false']);
    expect((await app.call('POST', `/v1/batches/${batch.json.id}/cancel`)).status).toBe(200);
  });
});

describe('GET /v1/files', () => {
  it('200: pages through every file once, in both orders', async () => {
    const lister = await startServer();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const form = uploadForm(chatLines(1, { content: () => `${n}` }));
      ids.push(
        (await lister.call('POST', '/v1/files', { body: form.body as never, headers: form.headers })).json.id,
      );
    }
    for (const order of ['asc', 'desc']) {
      const seen: string[] = [];
      for (let page, after = ''; !page || page.has_more;) {
        page = (await lister.call('GET', `/v1/files?limit=2&order=${order}${after}`)).json;
        expect(page).toMatchObject({
          object: 'list',
          first_id: page.data[0].id,
          last_id: page.data.at(-1).id,
        });
        seen.push(...page.data.map((item: { id: string }) => item.id));
        after = `&after=${page.last_id}`;
      }
      expect(seen).toEqual(order === 'asc' ? ids : ids.toReversed());
    }
    await lister.call('DELETE', `/v1/files/${ids[2]}`);
    const behind = await lister.call('GET', `/v1/files?order=asc&after=${ids[2]}`);
    expect(behind.json.data.map((item: { id: string }) => item.id)).toEqual(ids.slice(3));
    expect((await lister.call('GET', '/v1/files?purpose=batch_output')).json).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
    await lister.stop();
  });
});

describe('files for other purposes than batches', () => {
  const named = (value: string): Part => ({ name: 'purpose', value });
  const anything = Buffer.from([0xff, 0x00, ...Buffer.from('{"not": JSON\n\n<script>')]);
  const kept: Part = { name: 'file', value: anything, filename: 'page.html' };
  const sent = (on: RunningServer, parts: Part[], key = on.keys.a) => {
    const { body, headers } = multipart(parts);
    return on.call('POST', '/v1/files', { body: body as NonNullable<RequestInit['body']>, headers, key });
  };
  let open: RunningServer;
  beforeAll(async () => {
    const purposes = ['user_data', 'vision'] as const;
    open = await startServer({ userFiles: { purposes, fileBytes: 2_500_000, bytesPerOrg: 3_000_000 } });
  });
  afterAll(() => open.stop());

  it('are rejected if the configuration does not allow their purpose', async () => {
    for (const [on, value] of [
      [app, 'user_data'],
      [open, 'assistants'],
    ] as const)
      for (const parts of [
        [named(value), kept],
        [kept, named(value)],
      ]) {
        const { status, json } = await sent(on, parts);
        expect([status, json.error.param]).toEqual([422, 'purpose']);
        expect(json.error.message).toContain('files.purposes');
      }
  });

  it.each([
    ['before', [named('user_data'), kept]],
    ['after', [kept, named('user_data')]],
  ])('are stored unchanged, with their purpose sent %s the bytes', async (_where, parts) => {
    const { status, json } = await sent(open, [...parts, anchor, seconds('3600')]);
    expect(status).toBe(201);
    const { id, created_at } = json;
    expect(json).toEqual({
      id: expect.stringMatching(/^file-/),
      object: 'file',
      bytes: anything.length,
      created_at: expect.any(Number),
      expires_at: created_at + 3600,
      filename: 'page.html',
      purpose: 'user_data',
      status: 'processed',
    });
    const content = await open.call('GET', `/v1/files/${id}/content`);
    expect(content.headers.get('content-type')).toBe('application/octet-stream');
    expect(content.headers.get('x-content-type-options')).toBe('nosniff');
    expect(content.headers.get('content-disposition')).toBe('attachment; filename=page.html');
    expect(Number(content.headers.get('content-length'))).toBe(anything.length);
    expect((await open.call('GET', '/v1/files?purpose=user_data')).json.data).toEqual([json]);
    expect((await open.call('GET', '/v1/files?purpose=batch')).json.data).toEqual([]);
    expect((await open.call('GET', `/v1/files/${id}`, { key: open.keys.b })).status).toBe(404);
    const batch = await open.call('POST', '/v1/batches', {
      json: { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: id },
    });
    expect([batch.status, batch.json.error.param]).toEqual([422, 'input_file_id']);
    expect(batch.json.error.message).toContain('user_data, not batch');
    expect((await open.call('DELETE', `/v1/files/${id}`)).status).toBe(200);
    expect((await open.call('GET', `/v1/files/${id}/content`)).status).toBe(404);
  });

  it('do not change the rules for batch files, wherever the purpose is sent', async () => {
    expect((await sent(open, [file(), purpose])).status).toBe(201);
    const bad = await sent(open, [file('{"custom_id": "c"\n'), purpose]);
    expect([bad.status, bad.json.error.code]).toEqual([422, 'invalid_json_line']);
    const large = `${chatLines(2)}${' '.repeat(testLimits.bytesPerBatch)}`;
    expect((await sent(open, [file(large), purpose])).status).toBe(413);
  });

  it('have their own maximum size, and count towards the storage quota', async () => {
    const of = (bytes: number): Part => ({ name: 'file', value: new Uint8Array(bytes), filename: 'x' });
    const first = await sent(open, [named('vision'), of(2_500_000)]);
    expect(first.status).toBe(201);
    expect((await sent(open, [named('vision'), of(2_500_001)])).status).toBe(413);
    const more = await sent(open, [of(600_000), named('vision')]);
    expect([more.status, more.json.error.code]).toEqual([402, 'storage_quota_exceeded']);
    const another = await sent(open, [of(600_000), named('vision')], open.keys.b);
    expect(another.status).toBe(201);
    await open.call('DELETE', `/v1/files/${first.json.id}`);
    expect((await sent(open, [of(600_000), named('vision')])).status).toBe(201);
  });
});

describe('an unsupported schema', () => {
  const bad: [what: string, schema: object, place: string, code: string][] = [
    [
      'a broken pattern',
      { properties: { a: { pattern: '(' } } },
      '#/properties/a/pattern',
      'validation_error',
    ],
    ['a remote $ref', { $ref: 'https://example.com/s.json' }, '#/$ref', 'validation_error'],
    ['a $ref to nothing', { $ref: '#/$defs/none' }, '#/$ref', 'validation_error'],
    ['a long enum', { enum: Array.from({ length: 9_000 }, (_, at) => at) }, '#/enum', 'schema_too_complex'],
  ];
  const request = (schema: object) => ({
    custom_id: 'bad',
    method: 'POST',
    url: '/v1/chat/completions',
    body: {
      model: 'tiny',
      messages: [{ role: 'user', content: 'hi' }],
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
    },
  });
  const place = 'body.response_format.json_schema.schema';

  it.each(bad)('B41: 422 for a file and for a batch, with the line and the location: %s', async (...row) => {
    const [, schema, at, code] = row;
    const { status, json } = await create(uploadForm(`${chatLines(3)}${JSON.stringify(request(schema))}\n`));
    expect([status, json.error.code, json.error.details.errors[0]]).toEqual([
      422,
      code,
      expect.objectContaining({ line: 4, custom_id: 'bad', param: `${place}${at}` }),
    ]);
    const inline = await app.call('POST', '/v1/batches', {
      json: { endpoint: '/v1/chat/completions', completion_window: '24h', requests: [request(schema)] },
    });
    expect([inline.status, inline.json.error.param]).toEqual([422, `requests[0].${place}${at}`]);
  });
});
