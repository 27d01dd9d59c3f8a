import { backoffMs } from '../../base/backoff.ts';
import { createFairGate, type FairGate } from '../../base/fair-gate.ts';
import type { LineRef } from '../../core/batch.ts';
import { type CallTrace, toCallFields } from '../../core/call-trace.ts';
import { ApiError, permanent } from '../../core/errors.ts';
import type { Model } from '../../core/model.ts';
import type { LineAnswer, LineCall } from '../../inference/inference.ts';
import type { LineResult } from '../../store/contract/results.ts';
import type { Ground } from '../ground.ts';
import {
  afterFailure,
  afterRefusal,
  type Attempts,
  isSaidAgain,
  isSpent,
  noAttempts,
} from '../claimed/attempts.ts';
import type { Demand } from '../queue/demand.ts';
import type { Fairness } from '../queue/fairness.ts';
import type { SlotLeases } from '../queue/slot-leases.ts';
import { type HeldChunk, leaseOf, type RunningBatch } from '../claimed/held-chunks.ts';
import { asApiError, isStorageAway, linePauses, SaidError } from '../lines/line-errors.ts';
import { failedResult, lineRequestId, outputResult } from '../lines/line-result.ts';
import { inputFault } from '../lines/lines.ts';
import { prepareWithBody, type BatchLine } from '../../wire/batch/read-line.ts';
import { nextChunk } from './next-line.ts';
import { Turns } from './turns.ts';
import type { PrefixLanes } from '../claimed/prefix-lanes.ts';
import type { PrefixLeaders } from './prefix-leaders.ts';
import type { Recorder } from '../record/recorder.ts';
import type { Setbacks } from '../claimed/setbacks.ts';
import { poisonKills, type Suspects } from '../claimed/suspects.ts';
import type { WorkInHand } from '../claimed/work-in-hand.ts';

export interface DispatcherDeps extends Ground {
  work: WorkInHand;
  suspects: Suspects;
  demand: Demand;
  fairness: Fairness;
  leaders: PrefixLeaders;
  lanes: PrefixLanes;
  slots: Pick<SlotLeases, 'look' | 'isAsking'>;
  recorder: Recorder;
  setbacks: Pick<Setbacks, 'add'>;
  /** More lines should be claimed. */
  fetch: () => void;
}

/** Lines of the largest size that may hold files at once; of one org half of them. */
const filledAtOnce = 16;

/** Where prompts that were read are not shared, nobody gains by waiting for the first. */
const noLeaders = { shouldWait: () => false };

interface Asking extends Pick<LineCall, 'model' | 'asked'> {
  /** Gives back the room of the files it holds. */
  leave: () => void;
}

/** Sends lines while there is room and turns what comes back into results (batch-engine.md, "Running"). */
export class Dispatcher {
  #parts: DispatcherDeps;
  #stopped = true;
  /** A line is short where it names a file, and its body may be as long as any. As many wait as there are slots. */
  #filled: FairGate;
  #turns: Turns;
  /** Where files are kept for batches alone, no line waits to have its own looked for. */
  #mayNameFiles: boolean;

  constructor(parts: DispatcherDeps) {
    this.#parts = parts;
    const room = filledAtOnce * parts.limits.lineBytes;
    this.#filled = createFairGate({ capacity: room, maxPerOwner: room / 2 });
    this.#turns = new Turns(parts.clock, () => this.dispatch());
    this.#mayNameFiles = parts.files.purposes.some((purpose) => purpose !== 'batch');
  }

  start(): void {
    this.#stopped = false;
  }

  /** Sends nothing more; what is in flight still lands. */
  stop(): void {
    this.#stopped = true;
  }

  /** Fills every engine from what is in hand, and asks for more where that does not do. */
  dispatch(): void {
    const { demand, fetch, work, generate, slots, holdsLeases } = this.#parts;
    // A process that stood still may wake here before it knows what it has lost.
    if (this.#stopped || !holdsLeases()) return;
    for (const model of demand.models()) {
      // What could not be sent has its turn again; until then other lines try whether it works.
      if (generate.waiting(model) === null) work.held.unpark(model);
      if (!slots.isAsking(model)) this.#send(model, demand.room(model));
      if (demand.wants(model)) fetch();
    }
    slots.look();
  }

  /** @param room for so many lines */
  #send(model: string, room: number): void {
    if (room <= 0) return;
    // Who finds out how many a server takes must see what many at once do there.
    const isPaced = this.#parts.generate.found(model) === undefined;
    const most = isPaced ? Math.min(room, this.#turns.left(model)) : room;
    let left = most;
    while (left > 0 && this.#sendNext(model)) left--;
    this.#turns.sent(model, most - left);
    if (left === 0 && most < room) this.#turns.goOn();
  }

  #sendNext(model: string): boolean {
    const { work, fairness, demand, generate } = this.#parts;
    const lanes = this.#parts.lanes.now(model);
    const leaders = generate.prefixCache(model) === 'shared' ? this.#parts.leaders : noLeaders;
    const standIns = generate.standIns(model);
    const isPriced = ({ priced }: RunningBatch) =>
      priced.some((name) => standIns.includes(generate.catalog.idOf(name)));
    const mayRun = standIns.length > 0 ? isPriced : undefined;
    const next = () => nextChunk(work.held, model, fairness, leaders, lanes, mayRun);
    const held = next() ?? (work.held.unpark(model) ? next() : undefined);
    if (!held) return false;
    // Its name stands for another model now, or for none that is served here.
    if (generate.catalog.idOf(held.chunk.model) !== model) {
      work.yieldChunk(held);
      return this.#sendNext(model);
    }
    // A follower waits for its leader, and a second line of a lane for the first, only while other work may exist.
    const shouldWait = leaders.shouldWait(model, held.chunk.prefix) || (lanes?.inFlight(held) ?? 0) > 0;
    if (shouldWait && demand.wants(model)) return false;
    const ref = work.held.take(held);
    if (!ref) return false;
    fairness.charge(held.batch.orgId, estimate(held));
    this.#parts.leaders.sent(model, held.chunk.prefix);
    this.#parts.lanes.sent(model, held.chunk.prefix);
    demand.starting(model, 1);
    this.#start(held, ref);
    return true;
  }

  #start(held: HeldChunk, ref: LineRef): void {
    void this.#run(held, ref).finally(() => {
      const { work } = this.#parts;
      work.held.landed(held);
      work.settle(held);
      this.dispatch();
    });
  }

  async #run(held: HeldChunk, ref: LineRef): Promise<void> {
    const { demand, leaders, generate, log } = this.#parts;
    const { chunk, model } = held;
    const line = await held.lines.read(ref).catch((error: unknown) => void this.#unreadable(held, error));
    if (!line) return demand.starting(model, -1);
    const sentAt = this.#parts.clock.monotonic();
    let asking: Asking | undefined;
    try {
      const found = this.#find(held);
      asking = this.#mayNameFiles ? await this.#filledIn(held, line, found) : asItStands(line, found);
    } catch (error) {
      this.#failed(held, ref, line, error, sentAt);
    }
    // Until the engine counts it, in the same turn.
    demand.starting(model, -1);
    if (!asking) return;
    const { model: found, asked } = asking;
    const { abort, orgId, priced, expiresAt: deadline } = held.batch;
    const known: CallTrace | undefined = log.isLevelEnabled('debug') ? {} : undefined;
    const attempts = held.attempts.get(ref.line);
    const { made } = attempts ?? noAttempts;
    try {
      const { prefix } = chunk;
      const { signal } = abort;
      const told = known && { known };
      const isRepeat = attempts !== undefined;
      const call = { model: found, asked, priced, orgId, prefix, deadline, isRepeat, signal, ...told };
      this.#resolve(held, ref, this.#result(held, ref, line, await generate.runLine(call)));
      leaders.answered(model, chunk.prefix);
      if (known) this.#tell(held, ref, made + 1, known);
    } catch (error) {
      this.#failed(held, ref, line, error, sentAt);
      if (known) this.#tell(held, ref, made + 1, known, error);
    } finally {
      asking.leave();
    }
  }

  #tell({ batch }: HeldChunk, ref: LineRef, attempt: number, known: CallTrace, failure?: unknown): void {
    const request = { request_id: lineRequestId(batch.id, ref.line), org: batch.orgId, attempt };
    const failed = failure !== undefined && { code: asApiError(failure).code };
    this.#parts.log.debug({ ...request, ...toCallFields(known), ...failed }, failed ? 'line failed' : 'line');
  }

  /** Disks recover and files that are gone do not: the batch waits for one and ends for the other. No attempt is lost. */
  #unreadable(held: HeldChunk, error: unknown): Promise<void> {
    const { leaders, fairness, setbacks } = this.#parts;
    const { model, chunk, batch } = held;
    leaders.failed(model, chunk.prefix);
    fairness.charge(batch.orgId, -estimate(held));
    return setbacks.add(batch.id, error, inputFault(error));
  }

  /** Who is asked. */
  #find({ chunk }: HeldChunk): Model {
    const { generate, missing } = this.#parts;
    const model = generate.catalog.find(chunk.model);
    if (!model)
      throw new ApiError('model_not_found', `The model '${chunk.model}' does not exist any more.`, {
        // It went while the line was read, and may come again.
        blame: missing.isLost(chunk.model) ? permanent : { scope: 'model', certain: true, retry: true },
      });
    if (chunk.kills >= poisonKills)
      throw new ApiError(
        'poison_request',
        'The process died each time this request was running; it is not tried again.',
      );
    return model;
  }

  /** What is asked, with the content of the files that the line names. */
  async #filledIn({ batch }: HeldChunk, line: BatchLine, model: Model): Promise<Asking> {
    const { files, limits } = this.#parts;
    const { orgId, abort } = batch;
    let leave = () => {};
    const hold = async (bytes: number) => {
      leave = await this.#filled.enter(orgId, bytes, abort.signal);
    };
    try {
      const own = line.body.text;
      const text = await files.inline(orgId, own, limits.lineBytes, hold);
      return { model, asked: text === own ? line.prepared : prepareWithBody(line, text), leave };
    } catch (error) {
      leave();
      throw error;
    }
  }

  #result(held: HeldChunk, ref: LineRef, line: BatchLine, answer: LineAnswer): LineResult {
    const { fairness } = this.#parts;
    const { batch, chunk } = held;
    fairness.charge(batch.orgId, answer.usage.inputTokens + answer.usage.outputTokens - estimate(held));
    const { made } = held.attempts.get(ref.line) ?? noAttempts;
    // Billed under the name whose price the batch froze, whatever the model is called now.
    const paid = answer.model ?? chunk.model;
    return outputResult(batch.id, ref.line, line.customId, paid, answer, made + 1);
  }

  #failed(held: HeldChunk, ref: LineRef, line: BatchLine, thrown: unknown, sentAt: number): void {
    const { generate, clock, random, log, fairness, leaders } = this.#parts;
    const { batch, chunk } = held;
    if (isStorageAway(thrown)) return void this.#unreadable(held, thrown);
    leaders.failed(held.model, chunk.prefix);
    // It was served nothing, and is charged again when it is sent again.
    fairness.charge(batch.orgId, -estimate(held));
    if (batch.abort.signal.aborted) return;
    const error = asApiError(thrown);
    if (error.status === 500) log.error({ err: thrown, batch: batch.id }, 'a line failed inside the server');
    const before = held.attempts.get(ref.line) ?? noAttempts;
    const isRefusal = error.blame.scope !== 'request' && error.blame.certain;
    const count = isRefusal ? afterRefusal : afterFailure;
    const attempts = count(before, error, clock.monotonic(), generate.fared(held.model));
    held.attempts.set(ref.line, attempts);
    if (isSpent(attempts) || !error.blame.retry) {
      // A message that comes twice for one request is about the request.
      const told = isSaidAgain(before, error) ? new SaidError(error) : error;
      const result = failedResult(batch, ref.line, line.customId, chunk.model, told, attempts.made);
      return this.#resolve(held, ref, result);
    }
    if (isRefusal) return this.#refused(held, ref, attempts, attempts.passed > before.passed);
    const pause = backoffMs(attempts.made, linePauses, random.float());
    // The time that the failure took counts as part of the pause.
    this.#again(held, ref, Math.max(0, sentAt + pause - clock.monotonic()));
  }

  /**
   * The line waits until its server takes requests, and no attempt is counted. Where others get through it is in their way, and
   * waits by itself: what is refused alone, and then sent first, would leave them one request a pause.
   */
  #refused(held: HeldChunk, ref: LineRef, { passed }: Attempts, isPassed: boolean): void {
    const { work, generate, random } = this.#parts;
    if (!isPassed && generate.waiting(held.model) !== null) work.held.park(held, ref);
    else this.#again(held, ref, backoffMs(Math.max(1, passed), linePauses, random.float()));
  }

  #again(held: HeldChunk, ref: LineRef, ms: number): void {
    this.#parts.clock.after(ms, () => {
      if (!held.batch.stopping) this.#parts.work.held.putBack(held, ref);
      this.dispatch();
    });
  }

  #resolve(held: HeldChunk, ref: LineRef, result: LineResult): void {
    held.lines.forget(ref.line);
    this.#parts.recorder.add(result);
    this.#parts.demand.answered(held.model);
    held.remaining--;
    if (held.remaining === 0) this.#finish(held);
  }

  #finish(held: HeldChunk): void {
    this.#parts.work.held.retire(held);
    if (held.suspect && held.chunk.kills < poisonKills) this.#parts.suspects.answered();
    this.#parts.recorder.finish(leaseOf(held.chunk));
  }
}

const nothing = () => {};

function asItStands({ prepared: asked }: BatchLine, model: Model): Asking {
  return { model, asked, leave: nothing };
}

/** Tokens one line of the chunk is expected to take. */
function estimate(held: HeldChunk): number {
  return held.chunk.est / Math.max(1, held.chunk.lines.length);
}
