import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorBody, FileBody, ListBody } from '../support/api.ts';
import { chatLine, chatLines, jsonl } from '../support/batch-lines.ts';
import { install, scriptedYaml } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';

// Limits to the byte and the line, with a real server process. `npm run bench -- upload` measures their cost.

const mostBytes = 33_554_432;
const mostLines = 10_000;

/** Returns a file of exactly this many lines and bytes, with some non-ASCII text. */
function fileOf(lines: number, bytes: number): Buffer {
  const share = Math.floor(bytes / lines);
  const parts = Array.from({ length: lines - 1 }, (_, n) => paddedLine(n, share));
  const used = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([...parts, paddedLine(lines - 1, bytes - used)]);
}

function paddedLine(n: number, bytes: number): Buffer {
  const bare = Buffer.from(jsonl([chatLine(`row-${n}`, `Nr. ${n} – `)]));
  const text = `Nr. ${n} – ${'night '.repeat(Math.ceil(bytes / 6)).slice(0, bytes - bare.length)}`;
  return Buffer.from(jsonl([chatLine(`row-${n}`, text)]));
}

let installation: Installation;
let server: ServerProcess;
let largest: Buffer;

beforeAll(async () => {
  largest = fileOf(mostLines, mostBytes);
  installation = install(scriptedYaml({ slots: 32, delay: '0ms' }));
  server = await installation.start();
});

afterAll(() => installation?.remove());

const errorOf = (text: string) => (JSON.parse(text) as ErrorBody).error;
const storedFiles = async () => (await server.api.get<ListBody<FileBody>>('/v1/files')).data;

describe('the largest file', () => {
  it('is accepted', async () => {
    expect(largest).toHaveLength(mostBytes);
    expect((await server.api.upload(largest)).bytes).toBe(mostBytes);
  });

  it('runs and returns every line', async () => {
    const file = (await storedFiles()).find(({ bytes }) => bytes === mostBytes)!;
    const { id } = await server.api.createBatch(file.id);
    const batch = await server.api.finished(id);
    expect(batch.request_counts).toEqual({ total: mostLines, completed: mostLines, failed: 0 });
    const { text, headers } = await server.api.results(id, 'output');
    expect(headers.get('x-last-line')).toBe(String(mostLines));
    expect(text.split('\n')).toHaveLength(mostLines + 1);
  });

  it('is rejected with one more byte', async () => {
    const before = await storedFiles();
    const { status, text } = await server.api.sendFile(Buffer.concat([largest, Buffer.from('\n')]));
    expect(status).toBe(413);
    expect(errorOf(text)).toMatchObject({ code: 'payload_too_large' });
    expect(errorOf(text).message).toContain(String(mostBytes));
    expect(await storedFiles()).toEqual(before);
  });

  it('is rejected with one more line', async () => {
    const before = await storedFiles();
    const { status, text } = await server.api.sendFile(jsonl(chatLines(mostLines + 1)));
    expect(status).toBe(422);
    expect(errorOf(text)).toMatchObject({ code: 'too_many_tasks' });
    expect(errorOf(text).message).toContain(String(mostLines));
    expect(await storedFiles()).toEqual(before);
  });
});

describe('inline requests', () => {
  const create = (requests: unknown[]) =>
    server.api.send('/v1/batches', {
      json: { endpoint: '/v1/chat/completions', completion_window: '24h', requests },
    });

  it('are rejected above 10,000', async () => {
    const { status, text } = await create(chatLines(mostLines + 1));
    expect([status, errorOf(text).code]).toEqual([422, 'too_many_tasks']);
  });

  it('count as JSON lines: 32 MiB are accepted, one more byte is not', async () => {
    const requests = (bytes: number) =>
      fileOf(2000, bytes)
        .toString()
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as unknown);
    const { status, text } = await create(requests(mostBytes + 1));
    expect([status, errorOf(text).code]).toEqual([413, 'payload_too_large']);
    expect((await create(requests(mostBytes))).status).toBe(201);
  });
});

describe('the server afterwards', () => {
  it('is still ready', async () => {
    expect((await server.api.send('/readyz')).status).toBe(200);
    expect(server.stderr()).toBe('');
  });
});
