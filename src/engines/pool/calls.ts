import type { Clock } from '../../base/clock.ts';
import { unlessAborted } from '../../base/on-abort.ts';
import { ApiError, isWorthRetryingElsewhere } from '../../core/errors.ts';
import type { ChatResponse, ChatUsage } from '../../wire/chat/chat.ts';
import type { Engine, EngineCall, NativeCalls, Pool } from '../engines.ts';
import { notesOf } from './call-notes.ts';
import type { AdmissionQueue, Reservation } from './admission-queue.ts';
import type { Outcomes } from './health/outcomes.ts';
import type { Replica } from './replica.ts';

/** Other replicas that are asked after a failure: where it is certain that nothing was done, and where it is not. */
const elsewhere = { certain: 3, unclear: 1 } as const;

/** What a token that is read costs against one that is written. */
const tokensRead = 1 / 16;

export interface CallsDeps {
  /** May be others later. */
  replicas: readonly Replica[];
  entrance: AdmissionQueue;
  clock: Clock;
  fared: Outcomes;
}

/** A line that was not sent, because its server failed on a minimal request. */
class Unsent extends ApiError {
  constructor({ code, message, retryAfter, upstreamMessage: said }: ApiError) {
    super(code, message, {
      blame: { scope: 'model', certain: true, retry: true },
      ...(retryAfter !== undefined && { retryAfter }),
      ...(said !== undefined && { upstreamMessage: said }),
    });
  }
}

/** Asks the replica that suits a call, and on to another where that was at fault before anything of an answer had come. */
export function createCalls({
  replicas,
  entrance,
  clock,
  fared,
}: CallsDeps): Pick<Pool, 'generate' | 'stream' | 'embed' | 'native'> {
  let answered = 0;

  /** Where a call goes after a failure, if it should be asked again by itself. */
  async function next(
    call: EngineCall,
    error: unknown,
    tried: ReadonlySet<Replica>,
  ): Promise<Reservation | null> {
    if (!isWorthRetryingElsewhere(error) || call.signal.aborted) return null;
    if (tried.size > (error.blame.certain ? elsewhere.certain : elsewhere.unclear)) return null;
    return entrance.reserveElsewhere(call, tried);
  }

  const slackOf = ({ deadline }: EngineCall) => deadline && deadline - clock.now();

  function failed({ replica, sent }: Reservation, call: EngineCall, error: unknown): void {
    if (call.signal.aborted || !(error instanceof ApiError) || error instanceof Unsent)
      return replica.dropped(sent);
    replica.failed(sent, error, {
      slackMs: slackOf(call),
      isLine: call.priority === 'batch',
      isRepeat: call.isRepeat,
    });
    if (error.blame.scope !== 'account') return;
    for (const other of replicas)
      if (other !== replica && other.account === replica.account) other.health.failed(error);
  }

  function succeeded({ replica, sent }: Reservation, work: number): void {
    answered++;
    fared.answered(sent.at);
    replica.answered(sent, Math.max(1, work));
    compare();
  }

  /** Counts a failure that no other replica made good. */
  function gaveUp(call: EngineCall, error: unknown): void {
    if (error instanceof ApiError && error.blame.scope === 'replica' && !call.signal.aborted)
      fared.failed(clock.monotonic(), call.isRepeat === true);
  }

  /** Sends a minimal request before a line that would be the first one after a pause. */
  async function tryFirst({ replica, sent }: Reservation, call: EngineCall): Promise<void> {
    const error = await unlessAborted(replica.tryOut(sent, slackOf(call)), call.signal);
    if (error) throw new Unsent(error);
  }

  /** How slow each is against the others. */
  function compare(): void {
    if (replicas.length < 2 || answered % 64 !== 0) return;
    const paces = replicas
      .map(({ pace }) => pace)
      .filter((pace) => pace > 0)
      .toSorted((a, b) => a - b);
    const middle = paces[Math.floor(paces.length / 2)];
    if (middle !== undefined) for (const replica of replicas) replica.slowness = replica.pace / middle;
  }

  async function ask<T>(
    call: EngineCall,
    run: (engine: Engine) => Promise<T>,
    weigh: (answer: T) => number,
    idOf?: (answer: T) => unknown,
  ): Promise<T> {
    let tried: Set<Replica> | undefined;
    const { trace: known } = call;
    const notes = known && notesOf(known, clock);
    const entered = entrance.reserve(call);
    for (let at = entered instanceof Promise ? await entered : entered; ;) {
      const { replica } = at;
      notes?.sent(replica.name);
      try {
        if (call.priority === 'batch' && replica.isTestedBefore(at.sent)) await tryFirst(at, call);
        const answer = await run(replica.engine);
        notes?.answers(idOf?.(answer));
        succeeded(at, weigh(answer));
        return answer;
      } catch (error) {
        failed(at, call, error);
        entrance.admitWaiting();
        tried = (tried ?? new Set<Replica>()).add(replica);
        const other = await next(call, error, tried);
        if (!other) {
          gaveUp(call, error);
          throw error;
        }
        at = other;
      } finally {
        replica.left();
        entrance.admitWaiting();
      }
    }
  }

  async function* stream<T extends Piece>(
    call: EngineCall,
    run: (engine: Engine) => AsyncIterable<readonly T[]>,
  ): AsyncGenerator<readonly T[]> {
    const tried = new Set<Replica>();
    const notes = call.trace && notesOf(call.trace, clock);
    for (let at = await entrance.reserve(call); ;) {
      const { replica } = at;
      notes?.sent(replica.name);
      tried.add(replica);
      let begun = false;
      let isOpen = true;
      try {
        for await (const chunks of run(replica.engine)) {
          if (!begun) {
            replica.health.responded();
            notes?.answers(chunks[0]?.id);
          }
          begun = true;
          // The usage comes last: the server is done, however long the client reads.
          const usage = chunks.at(-1)?.usage;
          if (usage && isOpen) {
            isOpen = false;
            succeeded(at, workOf(usage));
            entrance.admitWaiting();
          }
          yield chunks;
        }
        if (isOpen) succeeded(at, 1);
        isOpen = false;
        return;
      } catch (error) {
        if (isOpen) failed(at, call, error);
        isOpen = false;
        entrance.admitWaiting();
        const other = begun ? null : await next(call, error, tried);
        if (!other) {
          gaveUp(call, error);
          throw error;
        }
        at = other;
      } finally {
        if (isOpen) replica.dropped(at.sent);
        replica.left();
        entrance.admitWaiting();
      }
    }
  }

  return {
    generate: (request, call) => ask(call, (engine) => engine.generate(request, call), workOfChat, idOfChat),
    stream: (request, call) => stream(call, (engine) => engine.stream(request, call)),
    embed: (request, call) =>
      ask(
        call,
        (engine) => engine.embed(request, call),
        ({ promptTokens }) => promptTokens * tokensRead,
      ),
    native: {
      generate: (op, request, call) =>
        ask(
          call,
          (engine) => nativeOf(engine).generate(op, request, call),
          ({ usage }) => workOf(usage),
          ({ fields }) => fields['id'],
        ),
      stream: (op, request, call) => stream(call, (engine) => nativeOf(engine).stream(op, request, call)),
    },
  };
}

/** A piece of a streamed answer; the last one tells the usage. */
interface Piece {
  id?: string;
  usage?: ChatUsage | null;
}

/** Nobody asks for it where `capabilities.speaks` names no format. */
function nativeOf({ native }: Engine): NativeCalls {
  if (!native) throw new Error('this engine is asked for chat completions only');
  return native;
}

const workOfChat = ({ usage }: ChatResponse) => workOf(usage);
const idOfChat = ({ id }: ChatResponse) => id;

function workOf(usage: ChatUsage): number {
  const read = usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens;
  return usage.completion_tokens + read * tokensRead;
}
