import { beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../base/clock.ts';
import { silent } from '../../base/log.ts';
import { StartError } from '../../base/start-error.ts';
import type { ApiError } from '../../core/errors.ts';
import type { ChildEvents, Spawn } from './child-process.ts';
import type { EngineResult, FromChild, LoadedModel, ToChild } from './protocol.ts';
import { type Supervisor, createSupervisor } from './supervisor.ts';

/** A child that the test controls, with the messages that it got. */
interface FakeChild {
  events: ChildEvents;
  received: ToChild[];
  say(message: FromChild): void;
  die(how?: string): void;
}

let children: FakeChild[];
let timers: { ms: number; fn: () => void; isOff: boolean }[];
let now: number;
let supervisor: Supervisor;

const clock: Clock = {
  now: () => now,
  monotonic: () => now,
  arrival: () => now,
  after(ms, fn) {
    const timer = { ms, fn, isOff: false };
    timers.push(timer);
    return { cancel: () => void (timer.isOff = true) };
  },
};

/** Lets the pending timers fire once. */
function elapse(): number[] {
  const due = timers.filter(({ isOff }) => !isOff);
  timers = [];
  for (const { ms, fn } of due) {
    now += ms;
    fn();
  }
  return due.map(({ ms }) => ms);
}

const model: LoadedModel = { serves: ['chat'], contextLength: 64, threads: 1, bytes: { model: 1, cache: 1 } };

beforeEach(() => {
  children = [];
  timers = [];
  now = 0;
  const spawn: Spawn = (events) => {
    const child: FakeChild = {
      events,
      received: [],
      say: (message) => events.onMessage(message),
      die: (how = 'was killed by SIGSEGV') => events.onExit(how, ''),
    };
    children.push(child);
    return {
      pid: children.length,
      send: (message) => child.received.push(message),
      kill: () => child.die('was killed'),
    };
  };
  const options = {
    modelPath: 'm.gguf',
    sequences: 2,
    contextSize: 'auto',
    threads: 1,
    flashAttention: false,
  } as const;
  supervisor = createSupervisor(options, spawn, clock, silent);
});

const latest = (): FakeChild => children.at(-1)!;
const loaded = (): void => latest().say({ type: 'loaded', model });

async function started(): Promise<void> {
  const ready = supervisor.start();
  loaded();
  await ready;
}

interface Running {
  outcome: Promise<EngineResult | ApiError>;
  deltas: number;
  abort(reason: Error): void;
}

function run(
  name: string,
  priority: 'interactive' | 'batch' = 'batch',
  op: 'generate' | 'count' = 'generate',
): Running {
  const controller = new AbortController();
  const running: Running = {
    outcome: Promise.resolve(answer),
    deltas: 0,
    abort: (reason) => controller.abort(reason),
  };
  running.outcome = supervisor
    .run(
      { op, request: { model: name, messages: [] }, options: { priority, prefix: '', streamed: false } },
      { signal: controller.signal, priority, onDelta: () => running.deltas++ },
    )
    .catch((error: unknown) => error as ApiError);
  return running;
}

/** Names of the requests the child was given and has not answered, in order. */
function given(child = latest()): string[] {
  return child.received.flatMap((message) => (message.type === 'ask' ? [message.ask.request.model] : []));
}

const answer: EngineResult = 1;

function finish(name: string, child = latest()): void {
  const message = child.received.find((one) => one.type === 'ask' && one.ask.request.model === name);
  child.say({ type: 'done', id: (message as { id: number }).id, answer });
}

describe('requests', () => {
  test('go to the child up to twice its slots, interactive ones first', async () => {
    await started();
    const all = Array.from({ length: 8 }, (_, i) => run(`batch ${i}`));
    const chat = run('chat', 'interactive');
    expect(given()).toHaveLength(4);
    finish('batch 0');
    expect(given().at(-1)).toBe('chat');
    finish('chat');
    expect(await chat.outcome).toBe(answer);
    expect(await all[0]!.outcome).toBe(answer);
  });

  test('counting waits for no slot', async () => {
    await started();
    for (let i = 0; i < 6; i++) run(`${i}`);
    const count = run('count', 'interactive', 'count');
    expect(given()).toEqual(['0', '1', '2', '3', 'count']);
    finish('count');
    expect(await count.outcome).toBe(answer);
    expect(given()).toHaveLength(5);
  });

  test('failures of the child become the original errors', async () => {
    await started();
    const running = run('a');
    latest().say({
      type: 'failed',
      id: 1,
      error: { code: 'validation_error', message: 'no', param: 'messages' },
    });
    expect(await running.outcome).toMatchObject({ code: 'validation_error', status: 422, param: 'messages' });
  });

  test('an aborted one rejects at once, but occupies its slot until the child confirms', async () => {
    await started();
    const all = Array.from({ length: 4 }, (_, i) => run(`${i}`));
    const next = run('next');
    const gone = new Error('gone');
    all[0]!.abort(gone);
    expect(await all[0]!.outcome).toBe(gone);
    expect(latest().received.at(-1)).toEqual({ type: 'abort', id: 1 });
    expect(given()).not.toContain('next');
    latest().say({
      type: 'failed',
      id: 1,
      error: { code: 'upstream_error', message: 'aborted', param: null },
    });
    expect(given()).toContain('next');
    finish('next');
    expect(await next.outcome).toBe(answer);
  });
});

describe('after a crash', () => {
  test('the next child starts after a back-off, and gets the lost requests one at a time', async () => {
    await started();
    const all = ['a', 'b', 'c'].map((name) => run(name));
    latest().die();
    expect(elapse()).toEqual([100]);
    loaded();
    const late = run('late', 'interactive');
    expect(given()).toEqual(['a']);
    finish('a');
    expect(given()).toEqual(['a', 'b']);
    finish('b');
    finish('c');
    expect(given()).toEqual(['a', 'b', 'c', 'late']);
    finish('late');
    for (const { outcome } of [...all, late]) expect(await outcome).toBe(answer);
  });

  test('only the request that kills its child a second time is poison', async () => {
    await started();
    const [good, bad, other] = ['good', 'bad', 'other'].map((name) => run(name));
    latest().die();
    elapse();
    loaded();
    finish('good');
    expect(given().at(-1)).toBe('bad');
    latest().die();
    expect(await bad!.outcome).toMatchObject({ code: 'poison_request', shouldRetry: false });
    elapse();
    loaded();
    finish('other');
    expect(await good!.outcome).toBe(answer);
    expect(await other!.outcome).toBe(answer);
  });

  test('a stream with delivered text is not repeated', async () => {
    await started();
    const running = run('a');
    latest().say({ type: 'delta', id: 1, delta: { choices: [] } });
    latest().die();
    expect(running.deltas).toBe(1);
    expect(await running.outcome).toMatchObject({ code: 'upstream_error', status: 502 });
  });

  test('an aborted request is not repeated', async () => {
    await started();
    run('a').abort(new Error('gone'));
    latest().die();
    elapse();
    loaded();
    expect(given()).toEqual([]);
  });

  test('the back-off doubles with each crash, and resets after a stable time', async () => {
    await started();
    const waits: number[] = [];
    for (let i = 0; i < 4; i++) {
      latest().die();
      waits.push(...elapse());
      loaded();
    }
    expect(waits).toEqual([100, 200, 400, 800]);
    now += 60_000;
    latest().die();
    expect(elapse()).toEqual([100]);
  });

  test('requests are rejected after five failed starts, until one succeeds', async () => {
    await started();
    const waiting = run('a');
    for (let i = 0; i < 5; i++) {
      latest().die();
      if (i < 4) elapse();
    }
    expect(await waiting.outcome).toMatchObject({ code: 'upstream_unreachable', retryAfter: 10 });
    expect(await run('b').outcome).toMatchObject({ code: 'upstream_unreachable' });
    elapse();
    loaded();
    const after = run('c');
    finish('c');
    expect(await after.outcome).toBe(answer);
  });

  test('a model that can no longer be loaded rejects waiting requests with the reason', async () => {
    await started();
    const waiting = run('a');
    latest().die();
    elapse();
    latest().say({ type: 'refused', message: 'The model file is gone.' });
    const error = (await waiting.outcome) as ApiError;
    expect(error).toMatchObject({ code: 'upstream_unreachable' });
    expect(error.message).toContain('The model file is gone.');
  });
});

describe('starting', () => {
  test('rejects with the reason that the child reports', async () => {
    const starting = supervisor.start();
    latest().say({ type: 'refused', message: 'No such file.' });
    await expect(starting).rejects.toThrow(new StartError('No such file.'));
    expect(elapse()).toEqual([]);
  });

  test('rejects when the child dies, without a retry', async () => {
    const starting = supervisor.start();
    latest().events.onExit('exited with code 1', 'GGML_ASSERT: no');
    await expect(starting).rejects.toThrow(
      /exited with code 1 while it loaded the model. Its last output: GGML_ASSERT/,
    );
    expect(children).toHaveLength(1);
  });
});

describe('the watchdog', () => {
  test('kills a child that does not answer six pings', async () => {
    await started();
    for (let i = 0; i < 6; i++) elapse();
    expect(children[0]!.received.filter(({ type }) => type === 'ping')).toHaveLength(6);
    elapse();
    expect(elapse()).toEqual([100]);
    expect(children).toHaveLength(2);
  });

  test('kills only a child without progress', async () => {
    await started();
    for (let i = 0; i < 100; i++) {
      elapse();
      latest().say({ type: 'pong', steps: i, working: 1 });
    }
    for (let i = 0; i < 100; i++) {
      elapse();
      latest().say({ type: 'pong', steps: 99, working: 0 });
    }
    expect(children).toHaveLength(1);
    for (let i = 0; i < 40 && children.length === 1; i++) {
      elapse();
      latest().say({ type: 'pong', steps: 99, working: 2 });
    }
    expect(children).toHaveLength(2);
  });
});
