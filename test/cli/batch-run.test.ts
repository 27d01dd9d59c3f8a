import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createFakeServer, failed, refusal, succeeded } from './support/fake-server.ts';
import type { FakeServer } from './support/fake-server.ts';
import { runCli, duringUpload, duringWait } from './support/run-cli.ts';

let cwd: string;
let server: FakeServer;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'offpeak-cli-'));
  server = createFakeServer();
  writeInput(['a', 'b', 'c']);
});

afterEach(() => rmSync(cwd, { recursive: true, force: true }));

function writeInput(ids: string[], url = '/v1/chat/completions') {
  const lines = ids.map((custom_id) => JSON.stringify({ custom_id, method: 'POST', url, body: {} }));
  writeFileSync(join(cwd, 'in.jsonl'), `${lines.join('\n')}\n`);
}

function idsOf(file: string): string[] {
  const lines = readFileSync(join(cwd, file), 'utf8').trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
}

const runBatch = (...more: string[]) =>
  runCli(['batch', 'run', 'in.jsonl', '-o', 'out.jsonl', ...more], { server, cwd });

const uploadedLines = () =>
  [...server.files.values()].flatMap(({ text }) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  );

const posts = (path: string) =>
  server.requests.filter((request) => request.method === 'POST' && request.path === path);

describe('batch run', () => {
  it('writes the results in input order and leaves no other files', async () => {
    const { code, out } = await runBatch();
    expect(code).toBe(0);
    expect(idsOf('out.jsonl')).toEqual(['a', 'b', 'c']);
    expect(readdirSync(cwd).toSorted()).toEqual(['in.jsonl', 'out.jsonl']);
    expect(out).toContain('completed: 3 completed, 0 failed');
    expect(out).toContain('0.0005 USD (0.001 without a batch)');
  });

  it('reads the endpoint from the file', async () => {
    writeInput(['a'], '/v1/embeddings');
    await runBatch();
    expect(server.batches.get('batch_1')?.batch.endpoint).toBe('/v1/embeddings');
  });

  it('exits 2 when lines failed, and writes them to a separate file', async () => {
    server.behavior.answer = (id) => (id === 'b' ? failed(id) : succeeded(id));
    expect((await runBatch()).code).toBe(2);
    expect(idsOf('out.jsonl')).toEqual(['a', 'c']);
    expect(idsOf('out.errors.jsonl')).toEqual(['b']);
  });

  it.each([
    ['failed', 3],
    ['expired', 4],
    ['cancelled', 4],
  ] as const)('exits with a code of its own when the batch %s', async (end, code) => {
    server.behavior.end = end;
    expect((await runBatch()).code).toBe(code);
  });

  it('with --json, prints only the batch and its files', async () => {
    const { out, err } = await runBatch('--json');
    expect(JSON.parse(out)).toMatchObject({
      id: 'batch_1',
      files: { output: join(cwd, 'out.jsonl'), errors: null },
    });
    expect(err).toBe('');
  });

  it('resumes a broken download after the last complete line', async () => {
    server.behavior.cuts = 2;
    expect((await runBatch()).code).toBe(0);
    expect(idsOf('out.jsonl')).toEqual(['a', 'b', 'c']);
  });

  it('waits for a server that is briefly unavailable', async () => {
    let asked = 0;
    server.behavior.before = (method, path) => {
      if (method === 'GET' && path === '/v1/batches/batch_1' && asked++ < 5)
        throw new TypeError('fetch failed');
      return undefined;
    };
    const { code, err } = await runBatch();
    expect(code).toBe(0);
    expect(err.match(/Waiting for the server/g)).toHaveLength(1);
  });

  it('gives up on a server that stays unavailable, and can resume later', async () => {
    server.behavior.before = (method) => {
      if (method === 'GET') throw new TypeError('fetch failed');
      return undefined;
    };
    expect((await runBatch()).code).toBe(5);
    server.behavior.before = () => undefined;
    expect((await runBatch()).code).toBe(0);
    expect(posts('/v1/batches')).toHaveLength(1);
  });

  it('overwrites results only with --force', async () => {
    writeFileSync(join(cwd, 'out.jsonl'), 'precious\n');
    const refused = await runBatch();
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('--force');
    expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).toBe('precious\n');
    expect((await runBatch('--force')).code).toBe(0);
    expect(idsOf('out.jsonl')).toEqual(['a', 'b', 'c']);
  });

  it('refuses to overwrite its input', async () => {
    const { code, err } = await runCli(['batch', 'run', 'in.jsonl', '-o', 'in.jsonl'], { server, cwd });
    expect(code).toBe(1);
    expect(err).toContain('overwrite the input');
  });
});

describe('an interrupted batch run', () => {
  it('leaves the batch running and resumes it when run again', async () => {
    server.behavior.polls = 1000;
    const first = await runCli(['batch', 'run', 'in.jsonl', '-o', 'out.jsonl'], {
      server,
      cwd,
      interrupt: duringWait,
    });
    expect(first.code).toBe(130);
    expect(first.err).toContain('batch_1 keeps running');
    expect(existsSync(join(cwd, 'out.jsonl.offpeak.json'))).toBe(true);
    server.behavior.polls = 1;
    const second = await runBatch();
    expect(second.code).toBe(0);
    expect(second.err).toContain('Resuming batch_1');
    expect(posts('/v1/batches')).toHaveLength(1);
    expect(existsSync(join(cwd, 'out.jsonl.offpeak.json'))).toBe(false);
  });

  it('rejects a second run with the same output without affecting the first', async () => {
    let second: Awaited<ReturnType<typeof runBatch>> | undefined;
    const fetch: typeof server.fetch = async (input, init) => {
      if (init?.method === 'POST') second ??= await runBatch('--force');
      return server.fetch(input, init);
    };
    const argv = ['batch', 'run', 'in.jsonl', '-o', 'out.jsonl'];
    const first = await runCli(argv, { server, fetch, cwd });
    expect(second).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        `Another run (process ${process.pid}) is writing out.jsonl.\nWait until it ends`,
      ),
    });
    expect([first.code, posts('/v1/batches').length]).toEqual([0, 1]);
    expect(readdirSync(cwd).toSorted()).toEqual(['in.jsonl', 'out.jsonl']);
  });

  it('with --wrap, asks for the last answer of examples for fine-tuning', async () => {
    const messages = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'a', weight: 1 },
    ];
    writeFileSync(
      join(cwd, 'in.jsonl'),
      `${JSON.stringify({ messages, id: 7 })}\n${JSON.stringify({ messages, model: 'x' })}\n`,
    );
    expect((await runBatch('--wrap')).err).toContain('Line 1 of the input names no model.');
    expect((await runBatch('--wrap', '--model', 'm')).code).toBe(0);
    expect(uploadedLines()).toMatchObject([
      { custom_id: '7', body: { messages: [messages[0]], model: 'm' } },
      { custom_id: 'line-2', body: { messages, model: 'm' } },
    ]);
  });

  it('with --wrap, asks the last question of each conversation of a ChatGPT export', async () => {
    const node = (id: string, parent: string | null, role: string, text: string, more = {}) => [
      id,
      {
        id,
        parent,
        children: [],
        message: { author: { role }, content: { content_type: 'text', parts: [text] }, ...more },
      },
    ];
    const chat = {
      title: 'A "chat", [with] brackets',
      conversation_id: 'c1',
      current_node: 'e',
      mapping: Object.fromEntries([
        ['root', { id: 'root', parent: null, message: null, children: ['h'] }],
        node('h', 'root', 'system', 'hidden', { metadata: { is_visually_hidden_from_conversation: true } }),
        node('a', 'h', 'user', 'first\nquestion'),
        node('x', 'a', 'assistant', 'another branch'),
        node('b', 'a', 'assistant', 'answer'),
        node('t', 'b', 'tool', 'found'),
        node('d', 't', 'user', 'second ü'),
        node('e', 'd', 'assistant', 'last answer'),
      ]),
    };
    const empty = { id: 'c2', mapping: { root: { message: null, parent: null } } };
    writeFileSync(
      join(cwd, 'conversations.json'),
      `\uFEFF[\n${JSON.stringify(chat, null, 2)},\n${JSON.stringify(empty)}]`,
    );
    const run = (...more: string[]) =>
      runCli(['batch', 'run', 'conversations.json', ...more], { server, cwd });
    expect((await run()).err).toContain('is one JSON array, not a table.\nWith --wrap and --model');
    expect((await run('--wrap', '--model', 'm', '-o', 'out.jsonl')).code).toBe(0);
    expect(uploadedLines()).toEqual([
      {
        custom_id: 'c1',
        method: 'POST',
        url: '/v1/chat/completions',
        body: {
          messages: [
            { role: 'user', content: 'first\nquestion' },
            { role: 'assistant', content: 'answer' },
            { role: 'user', content: 'second ü' },
          ],
          model: 'm',
        },
      },
    ]);
  });

  it('with --wrap, turns request bodies into batch lines and keeps batch lines', async () => {
    const chat = { messages: [{ role: 'user', content: 'hi' }] };
    const whole = { custom_id: 'mine', method: 'POST', url: '/v1/chat/completions', body: chat };
    const named = { custom_id: 'named', ...chat };
    const lines = [chat, whole, named].map((line) => JSON.stringify(line));
    writeFileSync(join(cwd, 'in.jsonl'), lines.join('\n\n'));
    expect((await runBatch('--wrap', '--model', 'm')).code).toBe(0);
    expect(idsOf('out.jsonl')).toEqual(['line-1', 'mine', 'named']);
  });

  it('stops during its upload, keeps no copy of the input, and resumes when run again', async () => {
    vi.stubEnv('TMPDIR', cwd);
    const argv = ['batch', 'run', 'in.jsonl', '-o', 'out.jsonl', '--model', 'other'];
    const fetch: typeof globalThis.fetch = (_, init) =>
      new Promise((_resolve, reject) => {
        const { signal } = init!;
        const end = () => reject(signal!.reason as Error);
        if (signal!.aborted) end();
        else signal!.addEventListener('abort', end);
      });
    const { url } = server;
    const first = await runCli(argv, {
      fetch,
      env: { OFFPEAK_URL: url },
      cwd,
      interrupt: duringUpload,
    });
    vi.unstubAllEnvs();
    expect([first.code, first.err.split('\n').slice(-3)]).toEqual([
      130,
      ['Error: Stopped.', 'Run the same command again to resume.', ''],
    ]);
    expect(readdirSync(cwd).filter((name) => !name.startsWith('out.'))).toEqual(['in.jsonl']);
    expect((await runCli(argv, { server, cwd })).code).toBe(0);
  });

  it('does not create a second batch when the response to the first was lost', async () => {
    let lost = false;
    const { fetch } = server;
    server.fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (lost || init?.method !== 'POST' || !new Request(input).url.endsWith('/v1/batches')) return response;
      lost = true;
      throw new TypeError('fetch failed');
    };
    expect((await runBatch()).code).toBe(0);
    expect(lost).toBe(true);
    expect(server.batches.size).toBe(1);
    expect(server.files.size).toBe(1);
  });

  it('starts over when the batch was deleted', async () => {
    server.behavior.polls = 1000;
    await runCli(['batch', 'run', 'in.jsonl', '-o', 'out.jsonl'], { server, cwd, interrupt: duringWait });
    server.batches.clear();
    server.behavior.polls = 1;
    // With the old key, the server would return the deleted batch.
    const { code, err } = await runBatch();
    expect(err).toContain('batch_1 no longer exists');
    expect(code).toBe(0);
  });

  it('refuses to resume with another input or server', async () => {
    server.behavior.polls = 1000;
    await runCli(['batch', 'run', 'in.jsonl', '-o', 'out.jsonl'], { server, cwd, interrupt: duringWait });
    const elsewhere = await runBatch('--url', 'http://other.test');
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.err).toContain('Pass --url http://offpeak.test');
    writeInput(['x']);
    const other = await runBatch();
    expect(other.code).toBe(1);
    expect(other.err).toContain('belongs to a run of another input');
  });
});

describe('a rejected batch run', () => {
  it('prints each bad line and leaves no state to resume', async () => {
    server.behavior.before = (method, path) =>
      method === 'POST' && path === '/v1/files'
        ? refusal(422, 'validation_error', '2 lines are bad', [
            {
              line: 1,
              custom_id: 'a',
              param: 'body.messages',
              code: 'validation_error',
              message: 'expected a list',
            },
            { line: 3, code: 'invalid_json_line', message: 'not JSON \u001b[31m' },
          ])
        : undefined;
    const { code, err } = await runBatch();
    expect(code).toBe(1);
    expect(err).toContain('Error: 2 lines are bad (validation_error, request req_1)');
    expect(err).toContain('line 1 (a), body.messages: expected a list [validation_error]');
    expect(err).not.toContain('\u001b[31m');
    expect(readdirSync(cwd)).toEqual(['in.jsonl']);
  });

  it('names a missing file', async () => {
    const { code, err } = await runCli(['batch', 'run', 'nope.jsonl'], { server, cwd });
    expect([code, err]).toEqual([1, 'Error: File not found: nope.jsonl.\n']);
  });
});
