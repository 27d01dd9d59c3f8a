import type { Clock } from '../../src/base/clock.ts';
import { ApiError, unavailable } from '../../src/core/errors.ts';
import type { Engine, EngineCall } from '../../src/engines/engines.ts';
import type { ChatRequest } from '../../src/wire/chat/chat.ts';
import type { JsonBody } from '../../src/wire/json/json-body.ts';
import { chatChunk, chatResponse, createFakeEngine, usage, usageChunk } from './fake-engine.ts';

/** Speed of a server with continuous batching: each step gives every running request one token. */
export interface BatchingCurve {
  /** Milliseconds of a step: alone, for each running request, and for each one above `knee`. */
  baseMs: number;
  perRequestMs: number;
  knee: number;
  aboveKneeMs: number;
  /** Milliseconds to read one token of a prompt, and the most tokens read in one step. */
  readMs: number;
  readsPerStep: number;
  /** Requests that run at once; others queue, first in, first out. */
  maxRunning: number;
  /** Requests at the server from which new ones get a 429; none if absent. */
  refusesAbove?: number;
}

/** One H200 with a model of a billion parameters: fitted to 32, 64, 128 and 256 requests at once. */
export const h200: BatchingCurve = {
  baseMs: 12,
  perRequestMs: 0.12,
  knee: 64,
  aboveKneeMs: 0.31,
  readMs: 0.01,
  readsPerStep: 2048,
  maxRunning: 256,
};

interface Job {
  prompt: number;
  tokens: number;
  /** Tokens of the prompt that are still to read. */
  unread: number;
  made: number;
  onToken: (() => void) | null;
  end: (error?: unknown) => void;
}

export interface BatchingEngine extends Engine {
  /** Requests at the server, running or queued. */
  readonly atServer: number;
  readonly queued: number;
  longestQueue: number;
  /** Tokens that all answers have, without those of abandoned ones. */
  tokens: number;
  /** Replaces the speed, as if others began to use the card. */
  set(curve: Partial<BatchingCurve>): void;
}

/** Engine in virtual time. The prompt has a token for four characters; an answer has `max_completion_tokens` tokens. */
export function createBatchingEngine(clock: Clock, initial: BatchingCurve): BatchingEngine {
  let curve = initial;
  const running: Job[] = [];
  const queue: Job[] = [];
  /** End of the step under way, with fractions; null while idle. */
  let stepEnds: number | null = null;

  const stepMs = () => {
    const above = Math.max(0, running.length - curve.knee);
    return curve.baseMs + curve.perRequestMs * running.length + curve.aboveKneeMs * above;
  };

  function begin(from: number): void {
    while (running.length < curve.maxRunning && queue.length > 0) running.push(queue.shift()!);
    if (running.length === 0) return void (stepEnds = null);
    let reads = curve.readsPerStep;
    for (const job of running) {
      const read = Math.min(reads, job.unread);
      job.unread -= read;
      reads -= read;
    }
    stepEnds = from + stepMs() + (curve.readsPerStep - reads) * curve.readMs;
    clock.after(stepEnds - clock.monotonic(), step);
  }

  function step(): void {
    for (const job of running.filter(({ unread }) => unread === 0)) {
      job.made++;
      job.onToken?.();
      if (job.made >= job.tokens) leave(job);
    }
    begin(stepEnds!);
  }

  function leave(job: Job, error?: unknown): void {
    for (const list of [running, queue]) if (list.includes(job)) list.splice(list.indexOf(job), 1);
    if (error === undefined) engine.tokens += job.made;
    job.end(error);
  }

  function enter({ value }: JsonBody<ChatRequest>, { signal }: EngineCall, onToken: Job['onToken']) {
    if (engine.atServer >= (curve.refusesAbove ?? Infinity))
      throw new ApiError('engine_overloaded', 'Too many requests.', { blame: unavailable });
    const prompt = Math.ceil(JSON.stringify(value.messages).length / 4);
    const tokens = value.max_completion_tokens ?? 16;
    return new Promise<Job>((resolve, reject) => {
      const job: Job = {
        prompt,
        tokens,
        unread: prompt,
        made: 0,
        onToken,
        end: (e) => (e ? reject(e) : resolve(job)),
      };
      signal.addEventListener('abort', () => leave(job, signal.reason));
      queue.push(job);
      // Requests of the same moment join the same step.
      if (stepEnds === null) {
        stepEnds = clock.monotonic();
        clock.after(0, () => begin(clock.monotonic()));
      }
      engine.longestQueue = Math.max(engine.longestQueue, queue.length);
    });
  }

  const engine: BatchingEngine = {
    ...createFakeEngine(),
    slots: null,
    get atServer() {
      return running.length + queue.length;
    },
    get queued() {
      return queue.length;
    },
    longestQueue: 0,
    tokens: 0,
    set: (changes) => void (curve = { ...curve, ...changes }),
    async generate(request, call) {
      const { prompt, made } = await enter(request, call, null);
      return { ...chatResponse('fine'), usage: usage(prompt, made) };
    },
    async *stream(request, call) {
      let arrived = 0;
      let wake = () => {};
      let isOver = false;
      const job = enter(request, call, () => {
        arrived++;
        wake();
      }).finally(() => {
        isOver = true;
        wake();
      });
      for (let read = 0; ;) {
        if (read < arrived) yield [chatChunk(` ${read++}`)];
        else if (isOver) break;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
      const { prompt, made } = await job;
      yield [usageChunk(prompt, made)];
    },
  };
  return engine;
}
