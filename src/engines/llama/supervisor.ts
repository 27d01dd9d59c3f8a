import { backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { StartError } from '../../base/start-error.ts';
import { ApiError } from '../../core/errors.ts';
import type { Child, Spawn } from './child-process.ts';
import { type EngineJob, createJobQueue } from './jobs.ts';
import type {
  EngineResult,
  EngineResults,
  EngineRequest,
  FromChild,
  LoadOptions,
  LoadedModel,
  ToChild,
} from './protocol.ts';
import { type Watchdog, startWatchdog } from './watchdog.ts';

export type Supervisor = ReturnType<typeof createSupervisor>;

const pauses = { initialMs: 100, maxMs: 10_000 };
/** A child that lived longer ends a series of crashes. */
const stableMs = 30_000;
/** Failed starts in a row after which waiting requests are rejected. */
const maxFailures = 5;

/**
 * Keeps one child process alive and gives it work.
 *
 *   stopped --start--> loading --loaded--> ready --exit--> waiting --backoff--> loading
 *                         `--refused or exit at the first start--> stopped
 *
 * When the child dies, its requests run once more, each alone. One that kills the child again ends as `poison_request`.
 * A stream that has already delivered text cannot be repeated and fails.
 */
export function createSupervisor(options: LoadOptions, spawn: Spawn, clock: Clock, log: Log) {
  // Twice its sequences: one batch may free all slots, and none should wait for the next message.
  const jobs = createJobQueue({ capacity: 2 * options.sequences });
  let state: 'stopped' | 'loading' | 'ready' | 'waiting' = 'stopped';
  let child: Child | undefined;
  let model: LoadedModel | undefined;
  let starting: PromiseWithResolvers<LoadedModel> | undefined;
  let backoff: Timer | undefined;
  let failures = 0;
  let readyAt = 0;
  /** Reason to reject requests, after failed starts. */
  let outage: string | undefined;
  /** Resolves when the latest child has ended. */
  let gone = Promise.withResolvers<void>();
  let watchdog: Watchdog | undefined;

  function launch(): void {
    state = 'loading';
    gone = Promise.withResolvers();
    const launched = spawn({
      onMessage: (message) => child === launched && receive(message),
      onExit: (how, output) => child === launched && onExit(how, output),
    });
    child = launched;
    send({ type: 'load', options });
  }

  function send(message: ToChild): void {
    child?.send(message);
  }

  function receive(message: FromChild): void {
    switch (message.type) {
      case 'loaded':
        return onLoaded(message.model);
      case 'refused':
        return onRefused(message.message);
      case 'pong':
        return watchdog?.onPong(message);
      case 'examined':
        // Only the process that examines cards sends this message.
        return;
      case 'delta':
        return jobs.onDelta(message.id, message.delta);
      case 'done':
        jobs.settle(message.id, (job) => job.resolve(message.answer));
        return pump();
      case 'failed': {
        const { code, message: text, param } = message.error;
        jobs.settle(message.id, (job) => job.reject(new ApiError(code, text, { param })));
        return pump();
      }
    }
  }

  function onLoaded(loaded: LoadedModel): void {
    state = 'ready';
    model = loaded;
    outage = undefined;
    readyAt = clock.monotonic();
    watchdog = startWatchdog(clock, send, (why) => {
      log.error({ pid: child?.pid, why }, 'The engine process is stuck; killing it.');
      child?.kill();
    });
    starting?.resolve(loaded);
    starting = undefined;
    const { note, ...facts } = loaded;
    log.info({ ...facts, pid: child?.pid }, 'The embedded engine is ready.');
    if (note !== undefined) log.warn({ pid: child?.pid }, note);
    pump();
  }

  function onRefused(message: string): void {
    if (starting) abandonStart(message);
    else {
      outage = message;
      jobs.rejectWaiting(unreachable());
    }
    child?.kill();
  }

  function abandonStart(message: string): void {
    state = 'stopped';
    starting?.reject(new StartError(message));
    starting = undefined;
  }

  function onExit(how: string, output: string): void {
    const livedMs = clock.monotonic() - readyAt;
    const wasReady = state === 'ready';
    child = undefined;
    watchdog?.stop();
    gone.resolve();
    if (state === 'stopped') return;
    if (starting)
      return abandonStart(
        `The engine process ${how} while it loaded the model.${output && ` Its last output: ${output}`}`,
      );
    failures = wasReady && livedMs > stableMs ? 1 : failures + 1;
    log.error(
      { how, said: output, failures, inFlight: jobs.inFlight },
      'The engine process has ended; restarting it.',
    );
    jobs.onCrash(how);
    if (failures >= maxFailures) {
      outage ??= `The engine process ${how} repeatedly.`;
      jobs.rejectWaiting(unreachable());
    }
    state = 'waiting';
    backoff = clock.after(backoffMs(failures, pauses), launch);
  }

  function unreachable(): ApiError {
    return new ApiError('upstream_unreachable', `The embedded engine is not running: ${outage}`, {
      retryAfter: 10,
    });
  }

  /** @throws ApiError `shutting_down` or `upstream_unreachable` */
  function requireRunning(): void {
    if (state === 'stopped') throw new ApiError('shutting_down', 'The engine is not running.');
    if (outage !== undefined) throw unreachable();
  }

  function pump(): void {
    if (state !== 'ready') return;
    for (let job = jobs.next(); job; job = jobs.next()) {
      send({ type: 'ask', id: job.id, ask: job.ask });
    }
  }

  return {
    get model() {
      return model;
    },
    /** Process ID of the child. */
    get pid() {
      return child?.pid;
    },
    async start() {
      if (state !== 'stopped') throw new Error('The engine is running already.');
      starting = Promise.withResolvers();
      const { promise } = starting;
      launch();
      return promise;
    },
    async stop() {
      backoff?.cancel();
      abandonStart('The engine was stopped while it started.');
      jobs.rejectAll(new ApiError('shutting_down', 'The engine is shutting down.'));
      if (!child) return;
      child.kill();
      await gone.promise;
    },
    requireRunning,
    async run<Op extends EngineRequest['op']>(
      ask: EngineRequest & { op: Op },
      how: Pick<EngineJob, 'signal' | 'priority' | 'onDelta'>,
    ) {
      requireRunning();
      const { promise, resolve, reject } = Promise.withResolvers<EngineResult>();
      const leave = jobs.add({ ...how, ask, resolve, reject }, (id) => send({ type: 'abort', id }));
      pump();
      return promise.finally(leave) as Promise<EngineResults[Op]>;
    },
  };
}
