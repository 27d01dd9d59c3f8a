// Batches of a model that is not served: real commands answer their lines (test/support/jobs/answer-job.mjs).

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { JobEngineConfig } from '../../../src/core/config.ts';
import { type AppOptions, type RunningApp, startApp, testModel } from '../../support/app.ts';
import { chatLine, chatLines, type ResultLine } from '../../support/batch-lines.ts';
import { type ObjectStore, startObjectStore } from '../../support/object-store.ts';
import { startPostgres } from '../../support/postgres.ts';
import { install } from '../../support/server-process.ts';
import { until } from '../../support/until.ts';

const script = join(dirname(fileURLToPath(import.meta.url)), '../../support/jobs/answer-job.mjs');

let folder: string;
let app: RunningApp;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'offpeak-job-test-'));
  app = await start();
});

afterEach(async () => {
  await app.stop();
  rmSync(folder, { recursive: true, force: true });
});

function start(): Promise<RunningApp> {
  return startApp({ ...optionsOf(), data: join(folder, 'data') });
}

function optionsOf(command = [process.execPath, script, folder]): AppOptions {
  const engine: JobEngineConfig = {
    kind: 'job',
    runner: { kind: 'command', command },
    model: 'real/name',
    flavor: 'vllm',
    lines: 100,
    jobs: 2,
    waitMs: 200,
    pollMs: 50,
    maxMs: 600_000,
  };
  return { models: [testModel(engine)], drainMs: 60_000 };
}

const wish = (name: string) => writeFileSync(join(folder, name), '');
const grant = (name: string) => rmSync(join(folder, name));
const runs = () =>
  existsSync(join(folder, 'runs')) ? readFileSync(join(folder, 'runs'), 'utf8').trim().split('\n') : [];
const aRun = () => until('a job', () => runs().length > 0);

async function contentsOf(batch: string): Promise<Map<string, string | undefined>> {
  const { text } = await app.api.results(batch, 'output');
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ResultLine);
  return new Map(
    lines.map(({ custom_id: id, response }) => [id, response?.body.choices[0]?.message.content]),
  );
}

const echoes = (count: number) =>
  new Map(Array.from({ length: count }, (_, at) => [`row-${at}`, `echo row-${at}`]));

async function requireBilled(lines: number): Promise<void> {
  const { data } = await app.api.get<{ data: { requests: number; input_tokens: number }[] }>('/v1/usage');
  const sums = data.reduce((sum, row) => [sum[0]! + row.requests, sum[1]! + row.input_tokens], [0, 0]);
  expect(sums).toEqual([lines, lines * 10]);
}

describe('a batch', () => {
  it('runs as a job, and every line is answered and billed once', async () => {
    const { id } = await app.api.createBatch({ requests: chatLines(40) });
    expect(await app.api.finished(id)).toMatchObject({
      status: 'completed',
      request_counts: { total: 40, completed: 40, failed: 0 },
      usage: { input_tokens: 400, output_tokens: 200 },
    });
    expect(await contentsOf(id)).toEqual(echoes(40));
    await requireBilled(40);
  });

  it('fails only the lines that the job refuses', async () => {
    const requests = [...chatLines(3), chatLine('bad', 'refuse me')];
    const { id } = await app.api.createBatch({ requests });
    expect((await app.api.finished(id)).request_counts).toEqual({ total: 4, completed: 3, failed: 1 });
    const { text } = await app.api.results(id, 'errors');
    expect(JSON.parse(text)).toMatchObject({ custom_id: 'bad', error: { code: 'request_refused' } });
  });

  it('starts only the missing lines again when a job dies half-way', async () => {
    wish('half');
    const { id } = await app.api.createBatch({ requests: chatLines(40) });
    expect((await app.api.finished(id)).request_counts).toEqual({ total: 40, completed: 40, failed: 0 });
    expect(await contentsOf(id)).toEqual(echoes(40));
    await requireBilled(40);
  });

  it('is finished by the job of a stopped server, which is not started again', async () => {
    wish('hold');
    const { id } = await app.api.createBatch({ requests: chatLines(40) });
    await aRun();
    const stopped = performance.now();
    await app.app.stop();
    expect(performance.now() - stopped).toBeLessThan(30_000);
    app = await start();
    grant('hold');
    expect((await app.api.finished(id)).request_counts).toEqual({ total: 40, completed: 40, failed: 0 });
    expect(await contentsOf(id)).toEqual(echoes(40));
    expect(runs()).toHaveLength(1);
    await requireBilled(40);
  });

  it('ends its job when it is cancelled', async () => {
    wish('hold');
    const { id } = await app.api.createBatch({ requests: chatLines(40) });
    await aRun();
    const job = join(folder, 'data/jobs/tiny', runs()[0]!);
    await app.api.post(`/v1/batches/${id}/cancel`, {});
    expect((await app.api.finished(id)).status).toBe('cancelled');
    const end = await until('the end of the job', () => existsSync(join(job, 'ended.json')));
    expect(end).toBe(true);
    expect(JSON.parse(readFileSync(join(job, 'ended.json'), 'utf8'))).toMatchObject({ state: 'cancelled' });
  });

  it('gives up at its deadline', async () => {
    wish('hold');
    const { id } = await app.api.createBatch({ requests: chatLines(4) });
    await aRun();
    const db = new DatabaseSync(join(folder, 'data', 'offpeak.db'), { timeout: 60_000 });
    db.exec('UPDATE batches SET expires_at = created_at, accept_until = created_at');
    db.close();
    expect(await app.api.finished(id)).toMatchObject({ status: 'expired', request_counts: { completed: 0 } });
  });
});

it('is not lost when the server is killed: its job goes on, and no line runs twice', async () => {
  const engine = `{ kind: job, run: command, command: ["${process.execPath}", "${script}", "${folder}"], wait: 1s, poll: 1s }`;
  const model = `{ id: tiny, aliases: [default], price: { input: 0.10, output: 0.40 }, engine: ${engine} }`;
  const installation = install(`models:\n  - ${model}\n`);
  onTestFinished(() => installation.remove());
  wish('hold');
  const killed = await installation.start();
  const { id } = await killed.api.createBatch({ requests: chatLines(40) });
  await aRun();
  await killed.end('SIGKILL');
  const server = await installation.start();
  grant('hold');
  const batch = await server.api.finished(id);
  expect(batch.request_counts).toEqual({ total: 40, completed: 40, failed: 0 });
  expect(batch.usage.input_tokens).toBe(400);
  expect(runs()).toHaveLength(1);
});

describe('with files in a bucket', () => {
  let store: ObjectStore;
  let inBucket: RunningApp;

  beforeEach(async () => {
    store = await startObjectStore();
    const options = optionsOf([
      'sh',
      '-c',
      `echo "$OFFPEAK_INPUT $OFFPEAK_OUTPUT" >>${folder}/runs; sleep 60`,
    ]);
    inBucket = await startApp({ ...options, data: join(folder, 'bucket'), files: { bucket: store.config } });
  });

  afterEach(async () => {
    await inBucket.stop();
    await store.close();
  });

  it('reads the results that a job puts into the bucket', async () => {
    const { id } = await inBucket.api.createBatch({ requests: chatLines(2) });
    await aRun();
    const [input, output] = runs()[0]!
      .split(' ')
      .map((url) => url.replace('s3://files/', ''));
    const lines = store.objects.get(input!)!.body.toString().trim().split('\n');
    const results = lines.map((line) => {
      const { custom_id: key, body } = JSON.parse(line) as { custom_id: string; body: { model: string } };
      expect(body.model).toBe('real/name');
      const message = { role: 'assistant', content: 'from a bucket' };
      const answer = { choices: [{ index: 0, message, finish_reason: 'stop' }] };
      return `${JSON.stringify({ custom_id: key, response: { status_code: 200, body: answer } })}\n`;
    });
    store.objects.set(`${output}/part.jsonl`, { body: Buffer.from(results.join('')), modifiedAt: 0 });
    expect((await inBucket.api.finished(id)).request_counts.completed).toBe(2);
    expect(input).toMatch(/^off\/peak\/jobs\/tiny\/job-[0-9a-f]{32}\/input\.jsonl$/);
  });
});

const postgres = await startPostgres();

describe.skipIf('reason' in postgres)('two processes on one database', () => {
  afterAll(() => ('reason' in postgres ? undefined : postgres.stop()));

  it('run no line twice when one of them stops during its job', async () => {
    if ('reason' in postgres) return;
    const database = await postgres.createDatabase();
    const options = { ...optionsOf(), data: join(folder, 'shared'), database };
    const first = await startApp(options);
    const second = await startApp(options);
    wish('hold');
    const { id } = await first.api.createBatch({ requests: chatLines(60) });
    const started = async () => (await second.api.batch(id)).progress.running === 60 && runs().length > 0;
    await until('all lines are in jobs', started);
    await first.stop();
    grant('hold');
    const batch = await second.api.finished(id);
    expect(batch.request_counts).toEqual({ total: 60, completed: 60, failed: 0 });
    expect(batch.usage.input_tokens).toBe(600);
    const jobs = runs().map((job) => readFileSync(join(folder, 'shared/jobs/tiny', job, 'job.json'), 'utf8'));
    const lines = jobs.flatMap((text) => (JSON.parse(text) as { lines: string[] }).lines);
    expect([lines.length, new Set(lines).size]).toEqual([60, 60]);
    await second.stop();
  });
});

describe('a single request', () => {
  const body = { model: 'tiny', messages: [{ role: 'user', content: 'hello' }] };

  it('is refused at once, with what to do instead', async () => {
    const { status, text } = await app.api.send('/v1/chat/completions', { json: body });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      error: {
        code: 'request_refused',
        param: 'model',
        message:
          "The model 'tiny' runs in batches only. Create a batch, or send the request with service_tier flex.",
      },
    });
    expect(runs()).toEqual([]);
  });

  it('runs as a line of a job with service_tier flex', async () => {
    const { status, text } = await app.api.send('/v1/chat/completions', {
      json: { ...body, service_tier: 'flex' },
    });
    expect([status, text]).toEqual([200, expect.stringContaining('echo hello')]);
  });
});
