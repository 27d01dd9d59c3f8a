import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../../base/system.ts';
import { createRayRunner } from './ray-runner.ts';
import type { JobRunner } from './runner.ts';

interface Submitted {
  body: Record<string, unknown>;
  headers: IncomingMessage['headers'];
}

/** Answers as Ray's dashboard does. */
let server: Server;
let jobs: Map<string, { status: string; message: string }>;
let submitted: Submitted[];
let losesAnswer: boolean;
let runner: JobRunner;

const order = {
  id: 'job-1',
  model: 'big',
  lines: 3,
  input: 's3://bucket/jobs/big/job-1/input.jsonl',
  output: 's3://bucket/jobs/big/job-1/output',
};
const job = { ...order, handle: 'job-1' };
const never = new AbortController().signal;

beforeEach(async () => {
  jobs = new Map();
  submitted = [];
  losesAnswer = false;
  server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  runner = createRayRunner({
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ray`,
    entrypoint: 'python batch.py',
    submission: { runtime_env: { working_dir: 's3://code.zip', env_vars: { MODE: 'fast' } } },
    headers: { authorization: 'Bearer token' },
    clock: systemClock,
  });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const text = (await request.toArray()).join('');
  const reply = (status: number, value: unknown) =>
    response.writeHead(status).end(typeof value === 'string' ? value : JSON.stringify(value));
  const [, id, action] = /^\/ray\/api\/jobs\/([^/]*)\/?(\w*)$/.exec(request.url!) ?? [];
  if (request.url === '/ray/api/version') return reply(200, { ray_version: '2.60.0' });
  if (id === '' && request.method === 'POST') {
    const body = JSON.parse(text) as Submitted['body'];
    const name = String(body['submission_id']);
    if (jobs.has(name))
      return reply(500, `Traceback\nValueError: Job with submission_id ${name} already exists.`);
    jobs.set(name, { status: 'PENDING', message: '' });
    submitted.push({ body, headers: request.headers });
    return losesAnswer ? response.destroy() : reply(200, { submission_id: name });
  }
  const found = jobs.get(id!);
  if (!found) return reply(404, `Job ${id} does not exist`);
  if (action === 'stop') found.status = 'STOPPED';
  return reply(200, action === 'logs' ? { logs: 'one\ntwo\n' } : found);
}

afterEach(async () => {
  await runner.stop();
  server.close();
});

it('submits a job under its own id, with its files in variables', async () => {
  expect(await runner.start(order)).toBe('job-1');
  expect(submitted[0]!.headers.authorization).toBe('Bearer token');
  expect(submitted[0]!.body).toEqual({
    submission_id: 'job-1',
    entrypoint: 'python batch.py',
    metadata: { model: 'big', lines: '3' },
    runtime_env: {
      working_dir: 's3://code.zip',
      env_vars: {
        MODE: 'fast',
        OFFPEAK_JOB: 'job-1',
        OFFPEAK_MODEL: 'big',
        OFFPEAK_LINES: '3',
        OFFPEAK_INPUT: order.input,
        OFFPEAK_OUTPUT: order.output,
      },
    },
  });
});

it('adopts the job where an earlier submission arrived', async () => {
  await runner.start(order);
  expect(await runner.start(order)).toBe('job-1');
  expect(submitted).toHaveLength(1);
});

it.each([
  ['PENDING', { state: 'running' }],
  ['RUNNING', { state: 'running' }],
  ['SUCCEEDED', { state: 'succeeded' }],
  ['FAILED', { state: 'failed', note: 'driver died' }],
  ['STOPPED', { state: 'failed', note: 'driver died' }],
])('reads the state %s', async (status, state) => {
  jobs.set('job-1', { status, message: 'driver died' });
  expect(await runner.stateOf(job)).toEqual(state);
});

it('takes a job as lost that Ray does not know', async () => {
  expect(await runner.stateOf(job)).toEqual({ state: 'failed', note: 'Ray does not know the job any more.' });
});

it('stops a job, and reads its log', async () => {
  await runner.start(order);
  await runner.cancel(job);
  expect(jobs.get('job-1')!.status).toBe('STOPPED');
  expect(await runner.logOf(job)).toBe('one\ntwo');
  await runner.cancel({ ...job, id: 'job-2' });
});

it('reports a cluster that is away', async () => {
  await runner.check(never);
  server.close();
  server.closeAllConnections();
  await expect(runner.check(never)).rejects.toMatchObject({ code: 'upstream_unreachable' });
  await expect(runner.stateOf(job)).rejects.toMatchObject({ code: 'upstream_unreachable' });
});

it('adopts the job whose answer was lost', async () => {
  losesAnswer = true;
  expect(await runner.start(order)).toBe('job-1');
  expect(submitted).toHaveLength(1);
});
