import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../../test/support/manual-clock.ts';
import { createMemoryJobs, type MemoryJobs } from '../../../../test/support/jobs/memory-jobs.ts';
import { createScriptedRunner, type ScriptedRunner } from '../../../../test/support/jobs/scripted-runner.ts';
import { createSeededRandom } from '../../../../test/support/seeded-random.ts';
import { createIds } from '../../../base/ids.ts';
import { silent } from '../../../base/log.ts';
import { ApiError } from '../../../core/errors.ts';
import type { Reply } from '../connection/replies.ts';
import { JobQueue } from './job-queue.ts';

const second = 1_000;
const minute = 60 * second;
const batchCancelled = new ApiError('batch_cancelled', 'cancelled');
const shutDown = new ApiError('shutting_down', 'stopping');

let clock: ManualClock;
let storage: MemoryJobs;
let runner: ScriptedRunner;
let ids: ReturnType<typeof createIds>;

beforeEach(() => {
  clock = createManualClock();
  storage = createMemoryJobs();
  runner = createScriptedRunner();
  ids = createIds(clock, createSeededRandom(1));
});

/** A process on the shared storage and runner. */
function startQueue(options: { maxLines?: number; maxJobs?: number } = {}) {
  const times = { waitMs: 10 * second, pollMs: 5 * second, maxMs: 60 * minute };
  const deps = { model: 'big', storage, runner, clock, ids, log: silent };
  const queue = new JobQueue({ maxLines: 3, maxJobs: 2, ...times, ...deps, ...options });
  queue.start();
  return queue;
}

interface Call {
  key: string;
  controller: AbortController;
  status: 'waiting' | 'answered' | 'failed';
  reply?: Reply<Buffer>;
  error?: unknown;
}

function send(queue: JobQueue, ...keys: string[]): Call[] {
  return keys.map((key) => {
    const call: Call = { key, controller: new AbortController(), status: 'waiting' };
    const request = { key, path: '/v1/chat/completions', body: Buffer.from(`{"model":"m","n":"${key}"}`) };
    queue.run(request, call.controller.signal).then(
      (reply) => Object.assign(call, { status: 'answered', reply }),
      (error: unknown) => Object.assign(call, { status: 'failed', error }),
    );
    return call;
  });
}

const statuses = (calls: Call[]) => calls.map(({ status }) => status);
const textOf = ({ reply }: Call) => reply?.body.toString();
const linesOf = (job: string) =>
  storage.files
    .get(`${job}/input.jsonl`)!
    .toString()
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);

function answer(job: string, ...keys: string[]): void {
  for (const key of keys) storage.append(job, 'part-0.jsonl', resultLine(key));
}

function resultLine(key: string): string {
  return `${JSON.stringify({ custom_id: key, response: { status_code: 200, body: { answer: key } }, error: null })}\n`;
}

function end(job: string, state: 'succeeded' | 'failed' = 'succeeded'): void {
  runner.states.set(job, state === 'failed' ? { state, note: 'exit 1' } : { state });
}

const jobAt = (at: number) => runner.orders[at]!.id;
const toNextPoll = () => clock.advance(6 * second);

describe('gathering', () => {
  it('starts a job as soon as it is full', async () => {
    send(startQueue(), 'a', 'b', 'c', 'd');
    await clock.advance(second);
    expect(runner.orders.map(({ id }) => linesOf(id))).toEqual([['a', 'b', 'c']]);
  });

  it('starts a job with fewer lines when none has come for a while', async () => {
    const queue = startQueue();
    send(queue, 'a');
    await clock.advance(9 * second);
    send(queue, 'b');
    await clock.advance(9 * second);
    expect(runner.orders).toEqual([]);
    await clock.advance(2 * second);
    expect(linesOf(jobAt(0))).toEqual(['a', 'b']);
  });

  it('runs no more jobs at a time than configured', async () => {
    const queue = startQueue({ maxLines: 1, maxJobs: 2 });
    const calls = send(queue, 'a', 'b', 'c');
    await toNextPoll();
    expect(runner.orders).toHaveLength(2);
    answer(jobAt(0), 'a');
    end(jobAt(0));
    await toNextPoll();
    expect(runner.orders).toHaveLength(3);
    expect(statuses(calls)).toEqual(['answered', 'waiting', 'waiting']);
  });

  it('gives the runner the addresses of the input and of the folder for results', async () => {
    send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    const id = jobAt(0);
    const order = {
      id,
      model: 'big',
      lines: 3,
      input: `/jobs/${id}/input.jsonl`,
      output: `/jobs/${id}/output`,
    };
    expect(runner.orders).toEqual([order]);
  });

  it('fails lines that cannot be written, as a server that is away', async () => {
    storage.fault = new Error('the disk is away');
    const [call] = send(startQueue(), 'a');
    await clock.advance(second);
    expect(call!.error).toMatchObject({
      code: 'storage_unavailable',
      blame: { scope: 'replica', certain: true },
    });
  });
});

describe('results', () => {
  it('arrive as the output grows', async () => {
    const calls = send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'b');
    await toNextPoll();
    expect(statuses(calls)).toEqual(['waiting', 'answered', 'waiting']);
    expect(textOf(calls[1]!)).toBe('{"answer":"b"}');
    answer(jobAt(0), 'a', 'c');
    end(jobAt(0));
    await toNextPoll();
    expect(statuses(calls)).toEqual(['answered', 'answered', 'answered']);
  });

  it('are complete when the job has ended, even if it ends between two looks', async () => {
    const calls = send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'a', 'b', 'c');
    end(jobAt(0));
    await toNextPoll();
    expect(statuses(calls)).toEqual(['answered', 'answered', 'answered']);
  });

  it('take the first of two results for a line, and ignore unknown and unreadable lines', async () => {
    const calls = send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'a', 'unknown');
    storage.append(
      jobAt(0),
      'part-1.jsonl',
      `not json\n[]\n{"custom_id":7}\n${resultLine('a').replaceAll('"a"}', '"other"}')}`,
    );
    await toNextPoll();
    expect(textOf(calls[0]!)).toBe('{"answer":"a"}');
    expect(statuses(calls)).toEqual(['answered', 'waiting', 'waiting']);
  });

  it('wait while the storage is away', async () => {
    const calls = send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'a', 'b', 'c');
    end(jobAt(0));
    storage.fault = new Error('the bucket is away');
    await clock.advance(10 * minute);
    expect(statuses(calls)).toEqual(['waiting', 'waiting', 'waiting']);
    storage.fault = undefined;
    await toNextPoll();
    expect(statuses(calls)).toEqual(['answered', 'answered', 'answered']);
  });
});

describe('a job that ends without all results', () => {
  it('leaves its missing lines to another try that costs them nothing', async () => {
    const calls = send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'b');
    end(jobAt(0), 'failed');
    await toNextPoll();
    expect(statuses(calls)).toEqual(['failed', 'answered', 'failed']);
    expect(calls[0]!.error).toMatchObject({
      code: 'upstream_error',
      message: 'The job of the request ended without its answer.',
      blame: { scope: 'replica', certain: true, retry: true },
    });
  });

  it('puts lines under suspicion if it answered none, and holds the next job back, longer each time', async () => {
    const queue = startQueue({ maxLines: 1 });
    const [call] = send(queue, 'a');
    await clock.advance(second);
    end(jobAt(0), 'failed');
    await toNextPoll();
    expect(call!.error).toMatchObject({ blame: { scope: 'replica', certain: false, retry: true } });
    expect(queue.heldMs).toBeGreaterThan(0);
    send(queue, 'b');
    await clock.advance(5 * second);
    expect(runner.orders).toHaveLength(1);
    await clock.advance(15 * second);
    expect(runner.orders).toHaveLength(2);
    end(jobAt(1), 'failed');
    await toNextPoll();
    expect(queue.heldMs).toBeGreaterThan(20 * second);
  });

  it('has its lines sent again in smaller jobs, so that the one at fault is found', async () => {
    const queue = startQueue({ maxLines: 32, maxJobs: 100 });
    const keys = Array.from({ length: 32 }, (_, at) => `line-${at}`);
    send(queue, ...keys);
    await clock.advance(second);
    end(jobAt(0), 'failed');
    await toNextPoll();
    send(queue, ...keys);
    await clock.advance(30 * second);
    expect(runner.orders.slice(1).map(({ lines }) => lines)).toEqual(Array.from({ length: 16 }, () => 2));
  });

  it('does not suspect lines of a job that could not be started', async () => {
    const calls = send(startQueue(), 'a', 'b', 'c');
    runner.fault = new Error('no queue');
    await clock.advance(second);
    expect(calls[0]!.error).toMatchObject({ blame: { scope: 'replica', certain: true } });
  });

  it('is cancelled after its maximum time', async () => {
    const calls = send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'a');
    await clock.advance(61 * minute);
    expect(runner.cancelled).toEqual([jobAt(0)]);
    expect(statuses(calls)).toEqual(['answered', 'failed', 'failed']);
  });

  it('goes on while its runner is away', async () => {
    const calls = send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    runner.fault = new Error('unreachable');
    await clock.advance(30 * minute);
    answer(jobAt(0), 'a');
    await toNextPoll();
    expect(statuses(calls)).toEqual(['answered', 'waiting', 'waiting']);
  });
});

describe('cancelling', () => {
  it('cancels a job once no call waits for it', async () => {
    const calls = send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    for (const { controller } of calls.slice(1)) controller.abort(batchCancelled);
    await toNextPoll();
    expect([statuses(calls), runner.cancelled]).toEqual([['waiting', 'failed', 'failed'], []]);
    calls[0]!.controller.abort(batchCancelled);
    await clock.advance(second);
    expect([statuses(calls), runner.cancelled]).toEqual([['failed', 'failed', 'failed'], [jobAt(0)]]);
    expect(calls[0]!.error).toBe(batchCancelled);
  });

  it('expects nothing of lines that are gone before their job starts', async () => {
    const queue = startQueue();
    const [a, b] = send(queue, 'a', 'b');
    await clock.advance(second);
    b!.controller.abort(batchCancelled);
    await clock.advance(11 * second);
    expect(runner.orders[0]!.lines).toBe(1);
    a!.controller.abort(batchCancelled);
    await clock.advance(second);
    expect(runner.cancelled).toEqual([jobAt(0)]);
    const [c] = send(queue, 'c');
    await clock.advance(second);
    c!.controller.abort(batchCancelled);
    await clock.advance(minute);
    expect(runner.orders).toHaveLength(1);
  });

  it('starts no job whose lines are gone', async () => {
    const queue = startQueue({ maxLines: 1, maxJobs: 1 });
    const [, second_] = send(queue, 'a', 'b');
    await clock.advance(second);
    second_!.controller.abort(batchCancelled);
    end(jobAt(0));
    await clock.advance(minute);
    expect(runner.orders).toHaveLength(1);
  });

  it('leaves the job alone when the process shuts down', async () => {
    const queue = startQueue();
    for (const { controller } of send(queue, 'a', 'b', 'c')) {
      await clock.advance(second);
      controller.abort(shutDown);
    }
    await clock.advance(minute);
    await queue.stop();
    await clock.advance(60 * minute);
    expect(runner.cancelled).toEqual([]);
  });
});

describe('another process', () => {
  it('takes over the running job of a dead one, and starts only what it lacks', async () => {
    send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'a');
    const next = startQueue();
    const calls = send(next, 'a', 'b', 'd');
    await clock.advance(11 * second);
    expect(statuses(calls)).toEqual(['answered', 'waiting', 'waiting']);
    expect(runner.orders.map(({ id }) => linesOf(id))).toEqual([['a', 'b', 'c'], ['d']]);
    answer(jobAt(0), 'b');
    await toNextPoll();
    expect(statuses(calls)).toEqual(['answered', 'answered', 'waiting']);
  });

  it('leaves the job of a dead one when it has its results, and starts the next', async () => {
    send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    const next = startQueue({ maxJobs: 1 });
    const calls = send(next, 'a', 'd');
    await clock.advance(11 * second);
    expect(runner.orders).toHaveLength(1);
    answer(jobAt(0), 'a');
    await toNextPoll();
    expect(statuses(calls)).toEqual(['answered', 'waiting']);
    expect(runner.orders.map(({ id }) => linesOf(id))).toEqual([['a', 'b', 'c'], ['d']]);
  });

  it('reads results again for lines that come later', async () => {
    send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'a', 'b', 'c');
    const next = startQueue();
    const [first] = send(next, 'c');
    await clock.advance(second);
    const [later] = send(next, 'a');
    await toNextPoll();
    expect(statuses([first!, later!])).toEqual(['answered', 'answered']);
    expect(runner.orders).toHaveLength(1);
  });

  it('uses what a job of a dead process left, and runs the rest as if for the first time', async () => {
    const before = startQueue();
    send(before, 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'a');
    end(jobAt(0), 'failed');
    await before.stop();
    const next = startQueue();
    const calls = send(next, 'a', 'b');
    await clock.advance(11 * second);
    expect(statuses(calls)).toEqual(['answered', 'waiting']);
    expect(linesOf(jobAt(1))).toEqual(['b']);
    expect(next.heldMs).toBe(0);
  });

  it('starts a job that a dead process had only written', async () => {
    const queue = startQueue({ maxLines: 1, maxJobs: 1 });
    send(queue, 'a', 'b');
    await clock.advance(second);
    await queue.stop();
    expect(runner.orders).toHaveLength(1);
    send(startQueue({ maxLines: 1, maxJobs: 2 }), 'b');
    await clock.advance(second);
    expect(runner.orders.map(({ id }) => linesOf(id))).toEqual([['a'], ['b']]);
  });

  it('runs a line again that was answered once, as a retry does', async () => {
    const queue = startQueue({ maxLines: 1 });
    send(queue, 'a');
    await clock.advance(second);
    answer(jobAt(0), 'a');
    end(jobAt(0));
    await toNextPoll();
    const [again] = send(queue, 'a');
    await clock.advance(second);
    expect([again!.status, runner.orders.length]).toEqual(['waiting', 2]);
  });
});

describe('files', () => {
  it('of an ended job are removed when its results are surely recorded', async () => {
    send(startQueue(), 'a', 'b', 'c');
    await clock.advance(second);
    answer(jobAt(0), 'a', 'b', 'c');
    end(jobAt(0));
    await clock.advance(5 * minute);
    expect(await storage.list()).toEqual([jobAt(0)]);
    await clock.advance(10 * minute);
    expect(storage.files.size).toBe(0);
  });

  it('of a job without waiting calls are removed after it was cancelled', async () => {
    const dead = startQueue();
    send(dead, 'a', 'b', 'c');
    await clock.advance(second);
    await dead.stop();
    startQueue();
    await clock.advance(25 * minute);
    expect(runner.cancelled).toEqual([jobAt(0)]);
    expect(await storage.list()).toEqual([jobAt(0)]);
    await clock.advance(90 * minute);
    expect(storage.files.size).toBe(0);
  });

  it('of a job that another process waits for stay', async () => {
    send(startQueue(), 'a', 'b', 'c');
    startQueue();
    await clock.advance(45 * minute);
    expect(runner.cancelled).toEqual([]);
    expect(await storage.list()).toEqual([jobAt(0)]);
  });
});
