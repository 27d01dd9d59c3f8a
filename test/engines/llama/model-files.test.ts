import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import * as nodeFs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../../src/base/system.ts';
import { StartError } from '../../../src/base/start-error.ts';
import type { PullProgress, PullRequest, PulledModel } from '../../../src/core/model-file.ts';
import { readModelSource } from '../../../src/core/model-source.ts';
import type { ModelSource, RemoteSource } from '../../../src/core/model-source.ts';
import { createModelFiles } from '../../../src/engines/llama/model-files.ts';
import type { ModelFiles, ModelFilesOptions } from '../../../src/engines/llama/model-files.ts';
import { bigGguf, loadableGguf } from '../../support/gguf-files.ts';
import { startModelServer } from '../../support/model-server.ts';
import type { ModelServer } from '../../support/model-server.ts';
import { until } from '../../support/until.ts';

const big = bigGguf(1);
const piece = 64 * 1024;
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** A clock that skips the back-off between attempts; limits for silent connections keep their time. */
const hurried = {
  ...systemClock,
  after: (ms: number, fn: () => void) => systemClock.after(ms >= 10_000 ? ms : ms / 100, fn),
};

let server: ModelServer;
let folder: string;
const opened: ModelFiles[] = [];

beforeEach(async () => {
  server = await startModelServer();
  folder = mkdtempSync(join(tmpdir(), 'offpeak-models-'));
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((files) => files.close()));
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function modelFiles(options: Partial<ModelFilesOptions> = {}): ModelFiles {
  const hub = { endpoint: server.url, token: null };
  const files = createModelFiles({
    folder,
    hub,
    clock: hurried,
    random: { ...systemRandom, float: () => 0 },
    pieceBytes: piece,
    ...options,
  });
  opened.push(files);
  return files;
}

function source(text: string): RemoteSource {
  const read = readModelSource(text);
  expect(read.kind).not.toMatch(/wrong|path/);
  return read as RemoteSource;
}

function pull(
  text: string,
  request: Partial<PullRequest> = {},
  options: Partial<ModelFilesOptions> = {},
): Promise<PulledModel> {
  const { signal } = new AbortController();
  return modelFiles(options).pull({ source: source(text), signal, ...request });
}

async function refusal(promise: Promise<unknown>): Promise<{ message: string; hint?: string }> {
  const outcome: unknown = await promise.then(
    () => new Error('It was fetched.'),
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(StartError);
  return outcome as { message: string; hint?: string };
}

/** Paths below the model folder. */
const kept = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => e.name)
    .toSorted();
const stateOf = (path: string) =>
  JSON.parse(readFileSync(`${path}.part.json`, 'utf8')) as { done: [number, number][] };
const here = (name: string) => join(folder, new URL(server.url).host.replace(':', '_'), name);

describe('pulling', () => {
  it('fetches pieces in parallel and leaves only the file', async () => {
    server.files.set('/m.gguf', { bytes: big });
    const seen: PullProgress[] = [];
    const pulled = await pull(`${server.url}/m.gguf`, { onProgress: (progress) => void seen.push(progress) });
    expect(pulled).toEqual({
      path: here('m.gguf'),
      files: [{ path: here('m.gguf'), bytes: big.length, sha256: null, present: false }],
    });
    expect(readFileSync(pulled.path).equals(big)).toBe(true);
    expect(kept()).toEqual(['m.gguf']);
    const ranges = server.hitsOf('/m.gguf').slice(1);
    expect(ranges.length).toBe(Math.ceil(big.length / piece));
    expect(ranges.reduce((sum, { sent }) => sum + sent, 0)).toBe(big.length);
    expect(seen.at(-1)).toMatchObject({
      phase: 'fetching',
      done: big.length,
      total: big.length,
      part: 1,
      parts: 1,
    });
    for (const [i, { done }] of seen.entries()) expect(done).toBeGreaterThanOrEqual(seen[i - 1]?.done ?? 0);
  });

  it('sends no request for an existing file', async () => {
    server.files.set('/m.gguf', { bytes: big });
    await pull(`${server.url}/m.gguf`);
    const { length } = server.hits;
    expect((await pull(`${server.url}/m.gguf`)).files[0]).toMatchObject({ present: true, bytes: big.length });
    expect(server.hits.length).toBe(length);
  });

  it('uses the given folder', async () => {
    server.files.set('/a/m.gguf', { bytes: big });
    const to = join(folder, 'mine', 'deep');
    expect((await pull(`${server.url}/a/m.gguf`, { to })).path).toBe(join(to, 'm.gguf'));
  });

  it('resumes where a connection broke, without fetching a byte twice', async () => {
    const breaks = new Set([1, 3, 4]);
    server.files.set('/m.gguf', {
      bytes: big,
      breakAfter: (_, index) => (breaks.has(index) ? 32_768 : undefined),
    });
    const { path } = await pull(`${server.url}/m.gguf`);
    expect(readFileSync(path).equals(big)).toBe(true);
    const starts = server
      .hitsOf('/m.gguf')
      .slice(1)
      .map(({ range }) => range![0]);
    expect(new Set(starts).size).toBe(starts.length);
  });

  it('retries after 429 and 503', async () => {
    const codes = [503, 429, undefined, 500, 502];
    server.files.set('/m.gguf', {
      bytes: big,
      status: (_, index) => codes[index],
      headers: { 'retry-after': '1' },
    });
    expect((await pull(`${server.url}/m.gguf`)).files[0]!.bytes).toBe(big.length);
  });

  it('gives up without progress, keeps the fetched bytes and resumes later', async () => {
    server.files.set('/m.gguf', {
      bytes: big,
      status: (hit) => ((hit.range?.[0] ?? 0) >= 512 * 1024 ? 503 : undefined),
    });
    const { message, hint } = await refusal(pull(`${server.url}/m.gguf`));
    expect(message).toMatch(/answered 503, and 6 attempts in a row brought nothing\.$/);
    expect(hint).toContain('resume');
    expect(kept()).toEqual(['m.gguf.part', 'm.gguf.part.json']);
    const before = stateOf(here('m.gguf')).done.reduce((sum, [start, end]) => sum + end - start, 0);
    expect(before).toBeGreaterThan(0);
    server.files.set('/m.gguf', { bytes: big });
    server.hits.length = 0;
    const { path } = await pull(`${server.url}/m.gguf`);
    expect(readFileSync(path).equals(big)).toBe(true);
    expect(server.hits.slice(1).reduce((sum, { sent }) => sum + sent, 0)).toBe(big.length - before);
  });

  it('keeps what was fetched when it is aborted', async () => {
    server.files.set('/m.gguf', { bytes: big, holdAfter: 32_768 });
    const stop = new AbortController();
    const pulling = pull(`${server.url}/m.gguf`, {
      signal: stop.signal,
      onProgress: ({ done }) => done >= 4 * 32_768 && stop.abort(new Error('enough')),
    });
    await expect(pulling).rejects.toThrow('enough');
    expect(stateOf(here('m.gguf')).done.length).toBeGreaterThan(0);
    expect(kept()).toEqual(['m.gguf.part', 'm.gguf.part.json']);
  });

  it('fetches one stream without range support, and restarts it when it breaks', async () => {
    server.files.set('/m.gguf', {
      bytes: big,
      noRanges: true,
      breakAfter: (_, index) => (index === 1 ? 200_000 : undefined),
    });
    const { path } = await pull(`${server.url}/m.gguf`);
    expect(readFileSync(path).equals(big)).toBe(true);
    expect(server.hits.length).toBe(3);
    expect(kept()).toEqual(['m.gguf']);
  });

  it('derives the length of a stream of unknown length from its header', async () => {
    const answer =
      (cut: number) => (_: unknown, response: { writeHead(n: number): void; end(b: Buffer): void }) => {
        response.writeHead(200);
        response.end(big.subarray(0, cut));
        return true;
      };
    server.files.set('/m.gguf', { bytes: big, answer: answer(big.length) });
    expect((await pull(`${server.url}/m.gguf`)).files[0]!.bytes).toBe(big.length);
    server.files.set('/cut.gguf', { bytes: big, answer: answer(big.length - 1000) });
    expect((await refusal(pull(`${server.url}/cut.gguf`))).message).toMatch(
      /cut\.gguf is truncated: it has \d+ of \d+ bytes/,
    );
    expect(kept()).toEqual(['m.gguf']);
  });
});

describe('a server that lies', () => {
  it('about the length: fewer bytes than announced', async () => {
    server.files.set('/m.gguf', {
      bytes: big,
      answer(_, response, { range }) {
        if (range![0] === 0) return false;
        const [start, end] = range!;
        response.writeHead(206, {
          'content-range': `bytes ${start}-${end - 1}/${big.length}`,
          etag: `"v${big.length}"`,
        });
        response.end();
        return true;
      },
    });
    expect((await refusal(pull(`${server.url}/m.gguf`))).message).toContain('sent nothing, and 6 attempts');
  });

  it('about the length: more bytes than announced', async () => {
    server.files.set('/m.gguf', {
      bytes: big,
      answer(_, response, { range }) {
        if (range![0] === 0) return false;
        const [start, end] = range!;
        response.writeHead(206, { 'content-range': `bytes ${start}-${end - 1}/${big.length}` });
        response.end(big.subarray(start, end + 100));
        return true;
      },
    });
    expect((await refusal(pull(`${server.url}/m.gguf`))).message).toContain('more bytes than announced');
  });

  it('about the range', async () => {
    server.files.set('/m.gguf', {
      bytes: big,
      answer(_, response, { range }) {
        if (range![0] === 0) return false;
        response.writeHead(206, { 'content-range': `bytes 0-99/${big.length}` });
        response.end(big.subarray(0, 100));
        return true;
      },
    });
    expect((await refusal(pull(`${server.url}/m.gguf`))).message).toMatch(
      /sent the bytes 0 to 100 instead of \d+ to \d+/,
    );
  });

  it('about the size: the file is smaller than its weights', async () => {
    server.files.set('/m.gguf', { bytes: big.subarray(0, big.length / 2) });
    expect((await refusal(pull(`${server.url}/m.gguf`))).message).toContain('is truncated: it has');
    expect(kept()).toEqual([]);
  });

  it('by changing the file during the download, which restarts', async () => {
    const other = bigGguf(1, 2);
    server.files.set('/m.gguf', {
      bytes: big,
      etag: '"one"',
      answer() {
        if (server.hits.length === 5) server.files.set('/m.gguf', { bytes: other, etag: '"two"' });
        return false;
      },
    });
    const notes: string[] = [];
    const { path } = await pull(`${server.url}/m.gguf`, { onNote: (note) => void notes.push(note) });
    expect(readFileSync(path).equals(other)).toBe(true);
    expect(notes).toEqual([expect.stringContaining('fetching it from the start')]);
  });

  it('between two attempts: no byte of the old file is used', async () => {
    server.files.set('/m.gguf', {
      bytes: big,
      etag: '"one"',
      status: (hit) => ((hit.range?.[0] ?? 0) > 500_000 ? 503 : undefined),
    });
    await refusal(pull(`${server.url}/m.gguf`));
    const other = bigGguf(1, 2);
    server.files.set('/m.gguf', { bytes: other, etag: '"two"' });
    expect(readFileSync((await pull(`${server.url}/m.gguf`)).path).equals(other)).toBe(true);
  });

  it.each([
    ['a page', '<!DOCTYPE html><html></html>', 'it is a web page'],
    ['a pointer', 'version https://git-lfs.github.com/spec/v1', 'it is a Git LFS pointer'],
    ['nothing', '', 'it has only 0 bytes'],
    ['another format', 'PK\u0003\u0004 and more of it', 'it begins with'],
    ['a format of the future', 'GGUF\u0009\u0000\u0000\u0000 and more of it', 'its version 9 is unsupported'],
  ])('by sending %s', async (_, text, message) => {
    server.files.set('/m.gguf', {
      bytes: Buffer.concat([Buffer.from(text), Buffer.alloc(text === '' ? 0 : 5_000_000)]),
    });
    expect((await refusal(pull(`${server.url}/m.gguf`))).message).toContain(message);
    expect(server.hits).toHaveLength(1);
    expect(server.hits[0]!.sent).toBeLessThanOrEqual(4096);
    expect(kept()).toEqual([]);
  });
});

describe('checksums', () => {
  it('are checked when given', async () => {
    server.files.set('/m.gguf', { bytes: big });
    const { files } = await pull(`${server.url}/m.gguf`, { sha256: sha256(big) });
    expect(files[0]!.sha256).toBe(sha256(big));
    const again = await pull(`${server.url}/m.gguf`, { sha256: sha256(big) });
    expect(again.files[0]).toMatchObject({ present: true, sha256: sha256(big) });
    const wrong = await refusal(pull(`${server.url}/m.gguf`, { sha256: 'f'.repeat(64) }));
    expect(wrong.message).toContain('already exists and has the checksum');
    expect(kept()).toEqual(['m.gguf']);
  });

  it('that are wrong leave nothing behind', async () => {
    server.files.set('/m.gguf', { bytes: big });
    const { message } = await refusal(pull(`${server.url}/m.gguf`, { sha256: 'f'.repeat(64) }));
    expect(message).toContain(
      `The checksum of ${server.url}/m.gguf is ${sha256(big)}, but ${'f'.repeat(64)} was given`,
    );
    expect(kept()).toEqual([]);
  });

  it('come from the hub', async () => {
    server.files.set('/o/r/resolve/main/m.gguf', {
      bytes: big,
      headers: { 'x-linked-etag': `"${sha256(big)}"` },
    });
    expect((await pull('hf:o/r/m.gguf')).files[0]).toMatchObject({
      sha256: sha256(big),
      path: join(folder, 'o', 'r', 'm.gguf'),
    });
    server.files.set('/o/r/resolve/main/bad.gguf', { bytes: big, etag: `"${'a'.repeat(64)}"` });
    expect((await refusal(pull('hf:o/r/bad.gguf'))).message).toContain(
      `but the hub reports ${'a'.repeat(64)}`,
    );
    const early = await refusal(pull('hf:o/r/bad.gguf', { sha256: sha256(big) }));
    expect(early.message).toContain('but');
    expect(early.hint).toBe('Nothing was fetched.');
  });

  it('of other servers are not taken from entity tags', async () => {
    const other = await startModelServer();
    try {
      other.files.set('/m.gguf', { bytes: big, etag: `"${'a'.repeat(64)}"` });
      expect((await pull(`${other.url}/m.gguf`)).files[0]!.sha256).toBeNull();
    } finally {
      await other.close();
    }
  });
});

describe('redirects', () => {
  it('are followed, and the token stays with the hub', async () => {
    const store = await startModelServer();
    try {
      store.files.set('/blob', { bytes: big, headers: { 'x-linked-etag': '"not-the-hub"' } });
      server.files.set('/o/r/resolve/v2/sub%20x/m.gguf', {
        bytes: big,
        answer(_, response) {
          response.writeHead(302, {
            location: `${store.url}/blob?sig=1`,
            'x-linked-etag': `"${sha256(big)}"`,
            'x-linked-size': String(big.length),
          });
          response.end();
          return true;
        },
      });
      const hub = { endpoint: server.url, token: 'hf_secret' };
      const { files } = await pull('hf:o/r@v2/sub x/m.gguf', {}, { hub });
      expect(files[0]).toMatchObject({
        sha256: sha256(big),
        path: join(folder, 'o', 'r@v2', 'sub x', 'm.gguf'),
      });
      expect(new Set(server.hits.map(({ authorization }) => authorization))).toEqual(
        new Set(['Bearer hf_secret']),
      );
      expect(new Set(store.hits.map(({ authorization }) => authorization))).toEqual(new Set([undefined]));
    } finally {
      await store.close();
    }
  });

  it('may lead to storage that tags the same bytes in several ways', async () => {
    const store = await startModelServer();
    try {
      store.files.set('/blob', {
        bytes: big,
        etag: null,
        answer(_, response) {
          response.setHeader('etag', `"${store.hits.length}"`);
          return false;
        },
      });
      server.files.set('/o/r/resolve/main/m.gguf', {
        bytes: big,
        status: () => 302,
        headers: { location: `${store.url}/blob`, 'x-linked-etag': `"${sha256(big)}"` },
      });
      expect((await pull('hf:o/r/m.gguf')).files[0]!.sha256).toBe(sha256(big));
    } finally {
      await store.close();
    }
  });

  it('do not carry the token to a URL that is not of the hub', async () => {
    server.files.set('/m.gguf', { bytes: big });
    await pull(`${server.url}/m.gguf`, {}, { hub: { endpoint: 'https://hub.invalid', token: 'hf_secret' } });
    expect(server.hits.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  it.each([
    ['in circles', '/m.gguf', 'redirects more than 10 times'],
    [
      'to an open connection',
      'http://example.org/m.gguf',
      'redirects to http://example.org, which is not encrypted',
    ],
    ['to a file of this machine', 'file:///etc/passwd', 'is not encrypted'],
    ['to an invalid URL', 'http://', 'redirects to an invalid URL'],
  ])('%s are rejected', async (_, location, message) => {
    server.files.set('/m.gguf', {
      bytes: big,
      answer(_request, response) {
        response.writeHead(302, { location });
        response.end();
        return true;
      },
    });
    expect((await refusal(pull(`${server.url}/m.gguf`))).message).toContain(message);
  });

  it.each([
    [401, 'needs permission'],
    [403, 'needs permission'],
    [404, 'there is no /m.gguf'],
    [418, 'answered 418 instead of a file'],
  ])('a %d is reported', async (status, message) => {
    server.files.set('/m.gguf', { bytes: big, status: () => status });
    expect((await refusal(pull(`${server.url}/m.gguf`))).message).toContain(message);
    expect(server.hits).toHaveLength(1);
  });
});

describe('the disk', () => {
  it('is checked before the download', async () => {
    server.files.set('/m.gguf', { bytes: big });
    const fs = { ...nodeFs, statfs: () => Promise.resolve({ bavail: 100, bsize: 4096 }) } as never;
    const { message } = await refusal(pull(`${server.url}/m.gguf`, {}, { fs }));
    expect(message).toMatch(/^1\.05 MB still have to be fetched, but only 410 KB are free/);
    expect(server.hits).toHaveLength(1);
    expect(kept()).toEqual([]);
  });

  it('that fills up keeps the fetched bytes', async () => {
    server.files.set('/m.gguf', { bytes: big });
    let room = 400_000;
    const open: typeof nodeFs.open = async (path, ...rest) => {
      const handle = await nodeFs.open(path, ...rest);
      if (!String(path).endsWith('.part')) return handle;
      const write = handle.write.bind(handle) as (...args: unknown[]) => Promise<{ bytesWritten: number }>;
      handle.write = (async (...args: unknown[]) => {
        room -= args[2] as number;
        if (room < 0)
          throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC', syscall: 'write' });
        return write(...args);
      }) as never;
      return handle;
    };
    const { message, hint } = await refusal(pull(`${server.url}/m.gguf`, {}, { fs: { ...nodeFs, open } }));
    expect(message).toMatch(/^The disk is full: .*m\.gguf\.part/);
    expect(hint).toContain('free some space');
    const before = stateOf(here('m.gguf')).done.reduce((sum, [start, end]) => sum + end - start, 0);
    expect(before).toBeGreaterThan(200_000);
    server.hits.length = 0;
    expect(readFileSync((await pull(`${server.url}/m.gguf`)).path).equals(big)).toBe(true);
    expect(server.hits.slice(1).reduce((sum, { sent }) => sum + sent, 0)).toBe(big.length - before);
  });

  it('that is read-only is reported', async () => {
    server.files.set('/m.gguf', { bytes: big });
    writeFileSync(join(folder, 'file'), '');
    expect((await refusal(pull(`${server.url}/m.gguf`, { to: join(folder, 'file') }))).message).toContain(
      'cannot be written',
    );
  });

  it('with an invalid state file restarts the download', async () => {
    server.files.set('/m.gguf', { bytes: big });
    mkdirSync(dirname(here('m.gguf')), { recursive: true });
    writeFileSync(`${here('m.gguf')}.part`, 'xxxx');
    for (const text of [
      '',
      '[',
      '{"version":1,"size":-1,"done":[["a"]]}',
      `{"version":1,"size":${big.length},"tag":"\\"v${big.length}\\"","sha256":null,"done":[[0,99999999]]}`,
    ]) {
      writeFileSync(`${here('m.gguf')}.part.json`, text);
      writeFileSync(`${here('m.gguf')}.part`, big.subarray(0, 4));
      const { path } = await pull(`${server.url}/m.gguf`);
      expect(readFileSync(path).equals(big)).toBe(true);
      rmSync(path);
    }
  });
});

describe('two pulls at once', () => {
  it('fetch a file once', async () => {
    server.files.set('/m.gguf', { bytes: big, holdAfter: 16_384 });
    const notes: string[] = [];
    const first = pull(`${server.url}/m.gguf`);
    await until('the first holds the file', () => existsSync(`${here('m.gguf')}.part`));
    const second = pull(`${server.url}/m.gguf`, { onNote: (note) => void notes.push(note) });
    await until('the second waits', () => notes.length > 0);
    expect(notes[0]).toContain('Waiting for another process');
    server.release();
    expect((await first).files[0]!.present).toBe(false);
    expect((await second).files[0]!.present).toBe(true);
    expect(kept()).toEqual(['m.gguf']);
  });

  it.each([
    ['that a process left when it was killed', ''],
    ['that is none', JSON.stringify({ host: 'elsewhere', pid: 1 })],
  ])('a lock file %s does not block a pull', async (_, content) => {
    server.files.set('/m.gguf', { bytes: big });
    const lock = `${here('m.gguf')}.part.lock.db`;
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, content);
    expect((await pull(`${server.url}/m.gguf`)).files[0]!.present).toBe(false);
    expect(kept()).toEqual(['m.gguf']);
  });
});

describe('a split model', () => {
  const parts = [1, 2, 3].map((seed) => bigGguf(0.25, seed));
  const name = (part: number) => `m-0000${part}-of-00003.gguf`;

  it('is pulled together, whichever part is named', async () => {
    for (const [i, bytes] of parts.entries())
      server.files.set(`/o/r/resolve/main/q/${name(i + 1)}`, { bytes });
    const seen: PullProgress[] = [];
    const pulled = await pull(`hf:o/r/q/${name(2)}`, { onProgress: (progress) => void seen.push(progress) });
    expect(pulled.path).toBe(join(folder, 'o/r/q', name(1)));
    for (const [i, { path }] of pulled.files.entries())
      expect(readFileSync(path).equals(parts[i]!)).toBe(true);
    const total = parts.reduce((sum, { length }) => sum + length, 0);
    expect(seen.at(-1)).toMatchObject({ part: 3, parts: 3, done: total, total });
    expect(modelFiles().pathOf(source(`hf:o/r/q/${name(3)}`))).toBe(pulled.path);
  });

  it('is not started when a part is missing', async () => {
    server.files.set(`/${name(1)}`, { bytes: parts[0]! });
    expect((await refusal(pull(`${server.url}/${name(1)}`))).message).toContain(name(2));
    expect(kept()).toEqual([]);
  });

  it('accepts no single checksum', async () => {
    expect((await refusal(pull(`${server.url}/${name(1)}`, { sha256: 'a'.repeat(64) }))).message).toContain(
      'split model',
    );
  });
});

describe('inspecting', () => {
  const model = loadableGguf();
  const inspect = (from: ModelSource, options: Partial<ModelFilesOptions> = {}) =>
    modelFiles(options).inspect({
      source: from,
      sequences: 4,
      context: 'auto',
      signal: new AbortController().signal,
    });

  it('describes a file', async () => {
    const path = join(folder, 'm.gguf');
    writeFileSync(path, model);
    expect(await inspect({ kind: 'path', path })).toEqual({
      name: 'random',
      architecture: 'llama',
      parameters: expect.any(Number),
      quantization: 'Q8_0',
      contextLength: 4096,
      layers: 2,
      width: 64,
      heads: 4,
      keyValueHeads: 4,
      tokenizer: { kind: 'gpt2', pre: 'gpt-2', vocabulary: 288 },
      template: { family: 'Qwen, Hermes', begins: expect.stringContaining('{% if tools %}') },
      files: 1,
      fileBytes: model.length,
      memory: {
        sequences: 4,
        context: 4096,
        weights: model.length,
        cache: 2 * (64 + 64) * 2 * 4 * 4096,
        // A batch of 516 tokens: mask, vectors and the scores of four heads, in four bytes each.
        work: 516 * (4096 + 8 * 64 + 4 * 4096) * 4 + 128 * 1024 ** 2,
        card: null,
        note: null,
        misfit: null,
      },
    });
  });

  it('fetches the header of a remote file and no more', async () => {
    const padded = Buffer.concat([bigGguf(6)]);
    server.files.set('/o/r/resolve/main/m.gguf', { bytes: padded });
    const report = await inspect(source('hf:o/r/m.gguf'));
    expect(report).toMatchObject({
      name: 'big 1',
      parameters: 6 * 256 * 1024,
      fileBytes: padded.length,
      quantization: 'F32',
      template: null,
    });
    expect(server.hits.reduce((sum, { sent }) => sum + sent, 0)).toBeLessThan(3 * 1024 ** 2);
    expect(kept()).toEqual([]);
  });

  it('sends no request for an existing file', async () => {
    server.files.set('/o/r/resolve/main/m.gguf', { bytes: model });
    await pull('hf:o/r/m.gguf');
    const { length } = server.hits;
    expect((await inspect(source('hf:o/r/m.gguf'))).name).toBe('random');
    expect(server.hits.length).toBe(length);
  });

  it.each([
    ['missing', null, 'There is no file'],
    ['empty', Buffer.alloc(0), 'it has only 0 bytes'],
    ['cut within its header', model.subarray(0, 3000), 'it ends within its header'],
    ['cut within its weights', model.subarray(0, -100), 'is truncated'],
    ['a text', Buffer.from('hello world, I am a text'), 'it begins with'],
  ])('reports a file that is %s', async (_, bytes, message) => {
    const path = join(folder, 'm.gguf');
    if (bytes) writeFileSync(path, bytes);
    expect((await refusal(inspect({ kind: 'path', path }))).message).toContain(message);
  });

  it('needs range support', async () => {
    server.files.set('/m.gguf', { bytes: model, noRanges: true });
    expect((await refusal(inspect(source(`${server.url}/m.gguf`)))).message).toContain(
      'does not support range requests',
    );
  });
});

describe('the local models', () => {
  it('are listed, with unfinished and damaged ones', async () => {
    writeFileSync(join(folder, 'a.gguf'), loadableGguf());
    writeFileSync(join(folder, 'b.gguf'), 'nonsense');
    mkdirSync(join(folder, 'c'));
    writeFileSync(join(folder, 'c', 'm.gguf.part'), 'GGUF');
    writeFileSync(
      join(folder, 'c', 'm.gguf.part.json'),
      JSON.stringify({ version: 1, size: 100, tag: 'x', sha256: null, done: [[0, 25]] }),
    );
    writeFileSync(join(folder, 'd-00001-of-00002.gguf'), loadableGguf());
    expect(await modelFiles().local()).toMatchObject([
      {
        path: join(folder, 'a.gguf'),
        architecture: 'llama',
        quantization: 'Q8_0',
        unfinished: null,
        fault: null,
        parts: null,
      },
      { path: join(folder, 'b.gguf'), architecture: null, fault: expect.stringContaining('begins with') },
      { path: join(folder, 'c', 'm.gguf'), bytes: 0, unfinished: 0.25 },
      { path: join(folder, 'd-00001-of-00002.gguf'), parts: { here: 1, of: 2 }, unfinished: 0.5 },
    ]);
    expect(statSync(join(folder, 'a.gguf')).size).toBeGreaterThan(0);
  });

  it('are empty without a folder', async () => {
    expect(await modelFiles({ folder: join(folder, 'none') }).local()).toEqual([]);
  });
});
