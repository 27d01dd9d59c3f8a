import type { Clock } from '../../base/clock.ts';
import { unlessAborted } from '../../base/on-abort.ts';
import type { CallTrace } from '../../core/call-trace.ts';
import { ApiError, isWorthRetryingElsewhere } from '../../core/errors.ts';
import type { ChatUsage } from '../../wire/chat/chat.ts';
import type { Engine, EngineCall, NativeCalls, Pool } from '../engines.ts';
import type { AdmissionQueue, Reservation } from './admission-queue.ts';
import type { Outcomes } from './health/outcomes.ts';
import { comparePaces } from './pace.ts';
import type { Replica } from './replica.ts';

/** Retries on other replicas: where certainly nothing was done, and where that is ambiguous. */
const maxRetries = { certain: 3, ambiguous: 1 } as const;

/** Cost of a prompt token relative to a completion token. */
const promptTokenCost = 1 / 16;
/** Answers between two comparisons of the replicas' paces. */
const compareEvery = 64;

/** Error of a line that was not sent, because its server failed on a minimal request. */
class UnsentError extends ApiError {
  constructor({ code, message, retryAfter, upstreamMessage }: ApiError) {
    super(code, message, {
      blame: { scope: 'model', certain: true, retry: true },
      ...(retryAfter !== undefined && { retryAfter }),
      ...(upstreamMessage !== undefined && { upstreamMessage }),
    });
  }
}

/** Sends calls to `replicas` (they may change), and to another one if the first is at fault before any output arrived. */
export function createCalls(
  replicas: readonly Replica[],
  queue: AdmissionQueue,
  clock: Clock,
  outcomes: Outcomes,
): Pick<Pool, 'generate' | 'stream' | 'direct' | 'native'> {
  let answered = 0;

  /** Reservation for a retry. @throws the error where the call should fail */
  async function retry(call: EngineCall, error: unknown, tried: ReadonlySet<Replica>): Promise<Reservation> {
    const isRetried =
      isWorthRetryingElsewhere(error) &&
      !call.signal.aborted &&
      tried.size <= maxRetries[error.blame.certain ? 'certain' : 'ambiguous'];
    const other = isRetried ? await queue.reserveElsewhere(call, tried) : null;
    return other ?? giveUp(call, error);
  }

  const slackOf = ({ deadline }: EngineCall) => deadline && deadline - clock.now();

  function failed({ replica, sent }: Reservation, call: EngineCall, error: unknown): void {
    if (call.signal.aborted || !(error instanceof ApiError) || error instanceof UnsentError)
      return replica.dropped(sent);
    const isLine = call.priority === 'batch';
    replica.failed(sent, error, { slackMs: slackOf(call), isLine, isRepeat: call.isRepeat });
    if (error.blame.scope !== 'account') return;
    for (const other of replicas)
      if (other !== replica && other.account === replica.account) other.health.failed(error);
  }

  function succeeded({ replica, sent }: Reservation, work: number): void {
    outcomes.answered(sent.at);
    replica.answered(sent, Math.max(1, work));
    if (++answered % compareEvery === 0) comparePaces(replicas);
  }

  /** Counts and throws a failure after which no other replica is tried. */
  function giveUp(call: EngineCall, error: unknown): never {
    if (error instanceof ApiError && error.blame.scope === 'replica' && !call.signal.aborted)
      outcomes.failed(clock.monotonic(), call.isRepeat === true);
    throw error;
  }

  /** Sends a minimal request before a line that would be the first one after a pause. */
  async function testFirst({ replica, sent }: Reservation, call: EngineCall): Promise<void> {
    const error = await unlessAborted(replica.tryOut(sent, slackOf(call)), call.signal);
    if (error) throw new UnsentError(error);
  }

  /** Sends a call that is answered in one piece, until a replica answers it or the call fails. */
  async function run<T>(
    call: EngineCall,
    send: (engine: Engine, call: EngineCall) => Promise<T>,
    workOf: (answer: T) => number,
    idOf?: (answer: T) => unknown,
  ): Promise<T> {
    let tried: Set<Replica> | undefined;
    let timesYielded = 0;
    const trace = call.trace && recordCall(call.trace, clock);
    const isLine = call.priority === 'batch';
    const reserved = queue.reserve(call);
    let reservation = reserved instanceof Promise ? await reserved : reserved;
    for (;;) {
      const { replica, sent } = reservation;
      trace?.sent(replica.name);
      const yielding = isLine ? replica.yielding(sent, call.signal, timesYielded) : null;
      try {
        if (isLine && replica.isTestedBefore(sent)) await testFirst(reservation, call);
        const answer = await send(replica.engine, yielding ? { ...call, signal: yielding.signal } : call);
        trace?.responded(idOf?.(answer));
        succeeded(reservation, workOf(answer));
        return answer;
      } catch (error) {
        if (yielding?.hasGivenWay && !call.signal.aborted) {
          timesYielded++;
          trace?.gaveWay();
          replica.dropped(sent);
          reservation = await queue.reserve(call);
        } else {
          failed(reservation, call, error);
          queue.admitWaiting();
          tried = (tried ?? new Set<Replica>()).add(replica);
          reservation = await retry(call, error, tried);
        }
      } finally {
        yielding?.end();
        replica.callEnded();
        queue.admitWaiting();
      }
    }
  }

  async function* stream<T extends StreamPiece>(
    call: EngineCall,
    send: (engine: Engine) => AsyncIterable<readonly T[]>,
  ): AsyncGenerator<readonly T[]> {
    const tried = new Set<Replica>();
    const trace = call.trace && recordCall(call.trace, clock);
    if (call.trace) call.trace.isStream = true;
    let reservation = await queue.reserve(call);
    for (;;) {
      const { replica } = reservation;
      trace?.sent(replica.name);
      tried.add(replica);
      let hasOutput = false;
      /** False once the reservation is returned to the replica. */
      let isReserved = true;
      try {
        for await (const chunks of send(replica.engine)) {
          if (!hasOutput) {
            replica.health.responded();
            trace?.responded(chunks[0]?.id);
          }
          hasOutput = true;
          // The usage comes last: the server is done, however long the client reads.
          const usage = chunks.at(-1)?.usage;
          if (usage && isReserved) {
            isReserved = false;
            succeeded(reservation, workFor({ usage }));
            queue.admitWaiting();
          }
          yield chunks;
        }
        if (isReserved) succeeded(reservation, 1);
        isReserved = false;
        return;
      } catch (error) {
        if (isReserved) failed(reservation, call, error);
        isReserved = false;
        queue.admitWaiting();
        reservation = hasOutput ? giveUp(call, error) : await retry(call, error, tried);
      } finally {
        if (isReserved) replica.dropped(reservation.sent);
        replica.callEnded();
        queue.admitWaiting();
      }
    }
  }

  return {
    generate: (request, call) =>
      run(
        call,
        (engine, one) => engine.generate(request, one),
        workFor,
        ({ id }) => id,
      ),
    stream: (request, call) => stream(call, (engine) => engine.stream(request, call)),
    direct: (kind, request, call) =>
      run(
        call,
        (engine, one) => engine.direct(kind, request, one),
        ({ promptTokens: read }) => read * promptTokenCost,
      ),
    native: {
      generate: (format, request, call) =>
        run(
          call,
          (engine, one) => nativeCalls(engine).generate(format, request, one),
          workFor,
          ({ fields }) => fields['id'],
        ),
      stream: (format, request, call) =>
        stream(call, (engine) => nativeCalls(engine).stream(format, request, call)),
    },
  };
}

/** A piece of a streamed answer; the last one carries the usage. */
interface StreamPiece {
  id?: string;
  usage?: ChatUsage | null;
}

function nativeCalls({ native }: Engine): NativeCalls {
  if (!native) throw new Error('this engine takes only chat completions');
  return native;
}

function workFor({ usage }: { usage: ChatUsage }): number {
  const read = usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens;
  return usage.completion_tokens + read * promptTokenCost;
}

/** Records the progress of a call in its trace, in place of what an earlier call left there. */
export function recordCall(trace: CallTrace, clock: Pick<Clock, 'monotonic'>) {
  const begunAt = clock.monotonic();
  let sentAt = begunAt;
  trace.begunAt ??= begunAt;
  trace.calls = (trace.calls ?? 0) + 1;
  trace.serversAsked = 0;
  trace.server = trace.queuedMs = trace.firstOutputMs = trace.answerId = trace.reported = undefined;
  return {
    sent(server: string): void {
      sentAt = clock.monotonic();
      if (trace.serversAsked === 0) trace.queuedMs = sentAt - begunAt;
      trace.serversAsked = (trace.serversAsked ?? 0) + 1;
      trace.server = server;
      trace.reported = undefined;
    },
    /** Makes the time until a line gave way count as waiting. */
    gaveWay(): void {
      trace.serversAsked = 0;
    },
    responded(id?: unknown): void {
      trace.firstOutputMs = clock.monotonic() - sentAt;
      if (typeof id === 'string') trace.answerId = id;
    },
  };
}
