import { readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { ChatMessage } from '../../src/wire/chat/chat.ts';
import { multipart } from './support/multipart.ts';
import { type CallResult, type Json, type RunningServer, startServer } from './support/start-server.ts';
import { until } from '../support/until.ts';

// Files referenced by ID reach the engine as if they had been sent inline, in every format.

const pdf = Buffer.from('%PDF-1.7 \xff', 'latin1');
const png = Buffer.from('\x89PNG\r\n\x1a\n\0', 'latin1');
const note = Buffer.from('Rom ist schön.');
const url = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;

let app: RunningServer;
let closed: RunningServer;
let asked: ChatMessage[] = [];
let askedText = '';
const ids: Record<string, string> = {};

beforeAll(async () => {
  closed = await startServer({ limits: { bodyBytes: 10_000_000 } });
  app = await startServer({
    userFiles: { purposes: ['user_data'], fileBytes: 1_500_000, bytesPerOrg: 10_000_000 },
    engine: (scripted) => ({
      ...scripted,
      generate(request, how) {
        asked = request.value.messages;
        askedText = request.text;
        return scripted.generate(request, how);
      },
    }),
  });
  ids['pdf'] = await keep('a.pdf', pdf);
  ids['png'] = await keep('a.png', png);
  ids['note'] = await keep('note.txt', note);
  ids['large'] = await keep('large.bin', Buffer.alloc(800_000));
  ids['escapes'] = await keep('escapes.txt', Buffer.alloc(600_000, 1));
  ids['foreign'] = await keep('a.pdf', pdf, app.keys.b);
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: chat('hi') };
  ids['requests'] = await keep('in.jsonl', Buffer.from(JSON.stringify(line)), app.keys.a, 'batch');
});
afterAll(async () => {
  await app.stop();
  await closed.stop();
});

async function keep(filename: string, value: Uint8Array, key = app.keys.a, purpose = 'user_data') {
  const { body, headers } = multipart([
    { name: 'purpose', value: purpose },
    { name: 'file', value, filename },
  ]);
  const sent = { key, headers, body: body as NonNullable<RequestInit['body']> };
  const { status, json } = await app.call('POST', '/v1/files', sent);
  expect(status).toBe(201);
  return json.id as string;
}

const chat = (content: unknown) => ({ model: 'tiny', messages: [{ role: 'user', content }] });
const named = (file: string) => chat([{ type: 'file', file: { file_id: ids[file] ?? file } }]);
const response = (part: object) => ({ model: 'tiny', input: [{ role: 'user', content: [part] }] });
const message = (type: string, file: string) => ({
  ...chat([{ type, source: { type: 'file', file_id: ids[file] } }]),
  max_tokens: 9,
});
const tell = ({ status, json }: CallResult) => [status, json.error.param, json.error.message];

const taken: [string, string, () => object, unknown][] = [
  [
    'a file of a chat',
    '/v1/chat/completions',
    () => named('pdf'),
    { type: 'file', file: { filename: 'a.pdf', file_data: url('application/pdf', pdf) } },
  ],
  [
    'a file of a response',
    '/v1/responses',
    () => response({ type: 'input_file', file_id: ids['note'] }),
    { type: 'file', file: { filename: 'note.txt', file_data: url('text/plain', note) } },
  ],
  [
    'an image of a response',
    '/v1/responses',
    () => response({ type: 'input_image', file_id: ids['png'], detail: 'low' }),
    { type: 'image_url', image_url: { url: url('image/png', png), detail: 'low' } },
  ],
  [
    'an image of a message',
    '/v1/messages',
    () => message('image', 'png'),
    { type: 'image_url', image_url: { url: url('image/png', png) } },
  ],
];

it.each(taken)('%s', async (_what, path, body, part) => {
  expect((await app.call('POST', path, { json: body() })).status).toBe(200);
  expect(asked.at(-1)!.content).toEqual([part]);
});

it('passes on a document of a message if it is text', async () => {
  expect((await app.call('POST', '/v1/messages', { json: message('document', 'note') })).status).toBe(200);
  expect(JSON.stringify(asked.at(-1)!.content)).toContain('Rom ist schön.');
  const refused = await app.call('POST', '/v1/messages', { json: message('document', 'pdf') });
  expect(tell(refused).slice(0, 2)).toEqual([422, 'messages[0].content[0].source.file_id']);
  expect(refused.json.error.message).toContain('PDFs and other binary files');
});

const refused: [string, () => object, string][] = [
  ['unknown', () => named(`file-${'0'.repeat(32)}`), 'no such file'],
  ['of another org', () => named('foreign'), 'no such file'],
  ['for a batch', () => named('requests'), 'expected a file with the purpose user_data, not batch'],
  ['too large for a request', () => named('large'), 'the request exceeds 1000000 bytes'],
];

it.each(refused)('rejects a file that is %s at its location', async (_what, body, why) => {
  const [status, param, text] = tell(await app.call('POST', '/v1/chat/completions', { json: body() }));
  expect([status, param]).toEqual([422, 'messages[0].content[0].file.file_id']);
  expect(text).toContain(why);
});

it('does not look up an ID of another form', async () => {
  const looked = vi.spyOn(app.store.files, 'get');
  const body = { json: named('file-\0') };
  expect(tell(await app.call('POST', '/v1/chat/completions', body))).toEqual([
    422,
    'messages[0].content[0].file.file_id',
    expect.stringContaining('no such file'),
  ]);
  expect(looked).not.toHaveBeenCalled();
  looked.mockRestore();
});

it('rejects a non-image as an image, and too many files', async () => {
  const image = { json: response({ type: 'input_image', file_id: ids['pdf'] }) };
  expect(tell(await app.call('POST', '/v1/responses', image))).toEqual([
    422,
    'input[0].content[0].file_id',
    expect.stringContaining('not an image'),
  ]);
  const many = chat(Array.from({ length: 101 }, () => ({ type: 'file', file: { file_id: ids['png'] } })));
  const { status, json } = await app.call('POST', '/v1/chat/completions', { json: many });
  expect([status, json.error.param]).toEqual([422, 'messages[0].content[100].file.file_id']);
});

it('keeps the digits of long numbers, and the arguments of tools', async () => {
  const text = `{"model":"tiny","seed":7,"logit_bias":null,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"n":{"const":12345678901234567890},"file_id":{"type":"string"}}}}}],"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"${ids['pdf']}"}}]}]}`;
  const sent = { body: text, headers: { 'content-type': 'application/json' } };
  expect((await app.call('POST', '/v1/chat/completions', sent)).status).toBe(200);
  expect(JSON.stringify(asked)).toContain('JVBERi0');
  expect(askedText).toContain('{"const":12345678901234567890}');

  const input = { type: 'file', file: { file_id: ids['pdf'] } };
  const messages = [
    { role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: ids['png'] } }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'done' }] },
  ];
  const tools = [{ name: 'f', input_schema: { type: 'object' } }];
  const json = { model: 'tiny', max_tokens: 9, messages, tools };
  expect((await app.call('POST', '/v1/messages', { json })).status).toBe(200);
  expect(asked).toMatchObject([{}, { tool_calls: [{ function: { arguments: JSON.stringify(input) } }] }, {}]);
});

/** Deletes a file right after it was found for the first time. */
function deleteOnceFound(id: string) {
  const { files } = app.store;
  const get = files.get.bind(files);
  files.get = async (...asking) => {
    const file = await get(...asking);
    files.get = get;
    await app.call('DELETE', `/v1/files/${id}`);
    return file;
  };
}

it('404 for a file deleted while it is read, and 500 for one whose content is lost', async () => {
  const id = await keep('a.pdf', pdf);
  deleteOnceFound(id);
  const gone = await app.call('POST', '/v1/chat/completions', { json: named(id) });
  expect(tell(gone)).toEqual([
    422,
    'messages[0].content[0].file.file_id',
    expect.stringContaining('no such file'),
  ]);
  const other = await keep('a.pdf', pdf);
  deleteOnceFound(other);
  expect((await app.call('GET', `/v1/files/${other}/content`)).status).toBe(404);

  const lost = await keep('a.pdf', pdf);
  const { blobId } = (await app.store.files.find(lost))!;
  const names = await readdir(app.folder, { recursive: true });
  await rm(
    join(
      app.folder,
      names.find((name) => basename(name) === blobId)!,
    ),
  );
  const damaged = await app.call('POST', '/v1/chat/completions', { json: named(lost) });
  expect([damaged.status, damaged.json.error.code]).toEqual([500, 'storage_damaged']);
});

it('counts a document by its size as JSON, which can exceed base64', async () => {
  const json = message('document', 'escapes');
  const [status, param, text] = tell(await app.call('POST', '/v1/messages', { json }));
  expect([status, param]).toEqual([422, 'messages[0].content[0].source.file_id']);
  expect(text).toContain('the request exceeds 1000000 bytes');
});

it('ignores a tool parameter named file_id', async () => {
  const parameters = { type: 'object', properties: { file_id: { type: 'string' } } };
  const json = { ...chat('hi'), tools: [{ type: 'function', function: { name: 'f', parameters } }] };
  expect((await closed.call('POST', '/v1/chat/completions', { json })).status).toBe(200);
});

it('resolves files of batch lines when they run, and fails only the line whose file is gone', async () => {
  const gone = await keep('gone.pdf', pdf);
  const requests = ['pdf', gone].map((file, n) => ({
    custom_id: `r${n}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: named(file),
  }));
  const lines = requests.map((request) => JSON.stringify(request)).join('\n');
  const input = await keep('in.jsonl', Buffer.from(lines), app.keys.a, 'batch');
  await app.call('DELETE', `/v1/files/${gone}`);
  const made = await app.call('POST', '/v1/batches', {
    json: { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: input },
  });
  expect(made.status).toBe(201);
  const look = async (): Promise<Json> => (await app.call('GET', `/v1/batches/${made.json.id}`)).json;
  await until('the batch is completed', async () => (await look()).status === 'completed');
  expect((await look()).request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
  const errors = await app.call('GET', `/v1/batches/${made.json.id}/errors`);
  const failed: Json = JSON.parse(errors.text);
  expect(failed.custom_id).toBe('r1');
  expect(failed.error.message).toContain('messages[0].content[0].file.file_id: no such file');
});

it('without stored files, asks for the content itself', async () => {
  const sent = { json: named(`file-${'0'.repeat(32)}`) };
  const { status, json } = await closed.call('POST', '/v1/chat/completions', sent);
  expect(status).toBe(422);
  expect(json.error.message).toContain('send the content itself as file_data');
});
