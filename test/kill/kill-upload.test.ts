import { readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BatchBody, FileBody, ListBody } from '../support/api.ts';
import { chatLines, endings, jsonl } from '../support/batch-lines.ts';
import { createSeededRandom } from '../support/seeded-random.ts';
import { install, processKey, scriptedYaml } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';
import { pause, until } from '../support/until.ts';

// The server dies during an upload or a creation. Afterwards the object is complete or absent.

let installation: Installation;
let server: ServerProcess;

beforeAll(async () => {
  installation = install(scriptedYaml({ slots: 32, delay: '0ms', more: 'drain: 3s\n' }));
  server = await installation.start();
});

afterAll(() => installation?.remove());

async function killAndStartAgain(): Promise<void> {
  await server.end('SIGKILL');
  server = await installation.start();
}

describe('F01, F02: killed while a file is uploaded', () => {
  it('leaves no file, sweeps the spool, and accepts the same file again', async () => {
    const content = jsonl(chatLines(4000, (n) => `${n}${' night'.repeat(500)}`));
    const socket = await sendHalf(server.url, content);
    // The upload is written to disk as it arrives, not buffered until complete.
    await until('most of the half is spooled', () => spooledBytes() > content.length / 3);
    await killAndStartAgain();
    socket.destroy();

    expect((await server.api.get<ListBody<FileBody>>('/v1/files')).data).toEqual([]);
    expect(spooled()).toEqual([]);
    expect(blobs()).toEqual([]);
    const file = await server.api.upload(content);
    expect((await server.api.send(`/v1/files/${file.id}/content`)).text).toBe(content);
  });

  it('loses nothing that was confirmed, however soon the kill follows the response', async () => {
    const content = jsonl(chatLines(50));
    const file = await server.api.upload(content);
    await killAndStartAgain();
    expect((await server.api.send(`/v1/files/${file.id}/content`)).text).toBe(content);
  });
});

describe('F07: stopped by SIGTERM while a file is uploaded', () => {
  const content = jsonl(chatLines(4000, (n) => `${n}${' night'.repeat(1_300)}`));
  let earlier: FileBody[];
  beforeAll(async () => {
    earlier = (await server.api.get<ListBody<FileBody>>('/v1/files')).data;
  });
  const spooledHalf = () => until('most of the half is spooled', () => spooledBytes() > content.length / 3);
  /** Everything that the server sends until it closes the connection. */
  const answerOn = (socket: Socket) =>
    new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (bytes) => (text += bytes.toString())).once('close', () => resolve(text));
    });

  it('closes the connection of a client that sends no more, and keeps nothing of the file', async () => {
    const socket = await sendHalf(server.url, content);
    const answer = answerOn(socket);
    await spooledHalf();
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
    // An error, or nothing.
    expect(await answer).toMatch(/^(HTTP\/1\.1 (408|503) |$)/);
    server = await installation.start();
    expect((await server.api.get<ListBody<FileBody>>('/v1/files')).data).toEqual(earlier);
    expect(spooled()).toEqual([]);
  });

  it('answers a client that sends the rest, and has the file exactly if it said so', async () => {
    const socket = await sendHalf(server.url, content, { rest: true });
    const answer = answerOn(socket);
    await spooledHalf();
    const ended = server.end('SIGTERM');
    await until('it is stopping', () => server.stderr().includes('Stopping'));
    socket.write(restOf(content));
    expect(await ended).toEqual({ code: 0, signal: null });
    const [, status] = /^HTTP\/1\.1 (\d+) /.exec(await answer) ?? [];
    server = await installation.start();
    const { data } = await server.api.get<ListBody<FileBody>>('/v1/files');
    console.info(`answered with ${status ?? 'a closed connection'}`);
    expect(data.length - earlier.length).toBe(status === '201' ? 1 : 0);
    if (status === '201')
      expect((await server.api.send(`/v1/files/${data[0]!.id}/content`)).text).toBe(content);
    expect(spooled()).toEqual([]);
  });
});

describe('F03: killed while a batch is created', () => {
  it('has the batch completely or not at all, and a retry by the client creates no second one', async () => {
    const random = createSeededRandom(7);
    const input = await server.api.upload(chatLines(200));
    let found = 0;
    for (let round = 0; round < 6; round++) {
      const inline = round % 2 === 1;
      const requests = { requests: chatLines(100, (n) => `${round} ${n}`) };
      const source = inline ? requests : { input_file_id: input.id };
      const json = {
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
        metadata: { round },
        ...source,
      };
      const lost = server.api.send('/v1/batches', { json }).catch(() => undefined);
      await pause(random.int(0, 12));
      await killAndStartAgain();
      const answered = (await lost)?.status === 201;
      const created = await ofRound(round);
      if (answered) expect(created).toHaveLength(1);
      found += created.length;

      const headers = { 'x-stainless-retry-count': '1' };
      const retried = await server.api.send('/v1/batches', { json, headers });
      expect(retried.status).toBe(201);
      const { id } = JSON.parse(retried.text) as BatchBody;
      expect((await ofRound(round)).map((batch) => batch.id)).toEqual([created[0]?.id ?? id]);
      await expectWhole(id, inline ? 100 : 200);
    }
    console.info(`6 kills during creation: ${found} batches existed before the retry`);
  });
});

describe('killed right after a batch was created', () => {
  it('continues the batch at once', async () => {
    const { id } = await server.api.createBatch({ requests: chatLines(300) });
    await killAndStartAgain();
    await expectWhole(id, 300);
  });
});

async function ofRound(round: number): Promise<BatchBody[]> {
  const { data } = await server.api.get<ListBody<BatchBody>>('/v1/batches?limit=100');
  return data.filter((batch) => (batch.metadata as { round?: number } | null)?.round === round);
}

async function expectWhole(id: string, lines: number): Promise<void> {
  const batch = await server.api.finished(id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: lines, completed: lines } });
  const { all, distinct } = endings((await server.api.results(id, 'output')).text, '');
  expect([all.length, distinct.size]).toEqual([lines, lines]);
}

const boundary = 'half-a-form';

/** Rest of an upload that was begun with `sendHalf`. */
function restOf(content: string): string {
  return `${content.slice(content.length / 2)}\r\n--${boundary}--\r\n`;
}

/** Begins an upload and stops in the middle of the file. */
async function sendHalf(url: string, content: string, { rest = false } = {}): Promise<Socket> {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
  const body = [
    `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n`,
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="in.jsonl"\r\n\r\n`,
    content.slice(0, content.length / 2),
  ].join('');
  const head = [
    'POST /v1/files HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${processKey}`,
    `Content-Type: multipart/form-data; boundary=${boundary}`,
    `Content-Length: ${rest ? Buffer.byteLength(body + restOf(content)) : content.length * 2}`,
  ].join('\r\n');
  await new Promise<void>((resolve) => socket.write(`${head}\r\n\r\n${body}`, () => resolve()));
  return socket;
}

function spooled(): string[] {
  return readdirSync(join(installation.data, 'blobs', 'tmp'));
}

function spooledBytes(): number {
  return spooled().reduce(
    (sum, name) => sum + statSync(join(installation.data, 'blobs', 'tmp', name)).size,
    0,
  );
}

function blobs(): string[] {
  return readdirSync(join(installation.data, 'blobs'), { recursive: true })
    .map(String)
    .filter((name) => /blob_/.test(name));
}
