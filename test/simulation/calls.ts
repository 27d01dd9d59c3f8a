import type { Inference, LineAnswer, LineCall } from '../../src/inference/inference.ts';
import { virtualEpoch } from '../support/virtual-clock.ts';
import { Shares } from './shares.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

/** Time until a process stops sending lines of a lost lease, and until it aborts the lines of a batch that has ended. */
const lostMs = 1_500;
const overMs = 5_000;
/** Time until an answer is durable, on an undisturbed process: the longest back-off after a disturbance. */
const recordMs = 6_000;
/**
 * Minimum back-off before an engine that refuses everything is tried again, and the refusals in a row that show it does.
 * Refusals that concern one line count as well.
 */
const probeMs = 400;
const probes = 6;

interface Call {
  process: SimProcess;
  begunAt: number;
  /** Lease under which the line was sent. */
  lease: string;
  endedAt: number | null;
  answered: boolean;
}

/** Reports the end of one request to an engine. */
interface RequestOutcome {
  answered: () => void;
  refused: () => void;
}

const decoder = new TextDecoder();
/** More lines than any world sends at one instant. */
const maxAtOnce = 5_000;

/**
 * Records every line that a process sends, and checks the rules: under a lease, once, within the slots, and not to an engine
 * in its back-off.
 */
export class Calls {
  #world: World;
  #shares: Shares;
  /** Keyed by batch and line. */
  #calls = new Map<string, Call[]>();
  /** Calls whose answer may not be durable yet. */
  #unrecorded = new Map<Call, string>();
  #inFlight = new Map<string, number>();
  /** Last refusal for each process and model, if no answer has come since. */
  #refusedAt = new Map<string, number>();
  /** Refusals since the last answer. */
  #refusals = new Map<string, number>();
  /** Virtual time of the latest line sent, to count the lines sent at that instant. */
  #instant = 0;
  #sentNow = 0;

  constructor(world: World) {
    this.#world = world;
    this.#shares = new Shares(world);
    this.#watch();
    this.#sample();
  }

  /** Wraps the inference of a process so that every line is recorded. */
  seenThrough(process: SimProcess, inference: Inference): Inference {
    return { ...inference, runLine: (line) => this.#run(process, inference, line) };
  }

  async #run(process: SimProcess, inference: Inference, line: LineCall): Promise<LineAnswer> {
    const { text } = line.asked.request();
    if (/single s\d+/.test(text)) return inference.runLine(line);
    const [, name = '', at = ''] = /item (\w+) (\d+)/.exec(text) ?? [];
    const batchId = this.#world.idOf(name);
    const lane = laneOf(process, line.model.id);
    if (this.#world.damaged.isPlanned) this.#judgeText(name, Number(at), line);
    if (this.#isEndless()) return new Promise(() => {});
    this.#world.operator.judge(process, line);
    const call = this.#begin(process, batchId, Number(at), lane);
    this.#shares.sent(batchId, line.model.id);
    try {
      const answer = await inference.runLine(line);
      call.answered = true;
      this.#unrecorded.set(call, `${batchId}/${at}`);
      this.#judgeEnd(call, batchId, Number(at));
      return answer;
    } finally {
      call.endedAt = this.#now;
      this.#inFlight.set(lane, (this.#inFlight.get(lane) ?? 0) - 1);
    }
  }

  /** A line must be sent as its input was stored, even if the input has been damaged since. */
  #judgeText(name: string, at: number, line: LineCall): void {
    const { bytes, index } = this.#world.inputOf(name) ?? this.#world.inputs[0]!;
    const start = index.offset[at] ?? 0;
    const stored = decoder.decode(bytes.subarray(start, start + (index.length[at] ?? 0)));
    if (!stored.includes(line.asked.request().text))
      this.#world.observer.fail(`line ${at} of ${name} is sent with a text other than its input`);
  }

  /** Stops endless sending: lines sent and refused in a loop let no virtual time pass, so the world would hang. */
  #isEndless(): boolean {
    if (this.#instant !== this.#now) this.#sentNow = 0;
    this.#instant = this.#now;
    if (++this.#sentNow < maxAtOnce) return false;
    if (this.#sentNow === maxAtOnce) this.#world.observer.fail('lines are sent in a loop');
    return true;
  }

  /** Records a request to an engine. The process learns its outcome before the line does. Chats come in bursts, with no back-off. */
  asked(process: SimProcess, model: string, isLine: boolean): RequestOutcome {
    const lane = laneOf(process, model);
    const begunAt = this.#now;
    const refusedAt = this.#refusedAt.get(lane) ?? Number.NEGATIVE_INFINITY;
    if (isLine && begunAt - refusedAt < probeMs && (this.#refusals.get(lane) ?? 0) >= probes)
      this.#world.observer.fail(`${lane} gets a request ${begunAt - refusedAt} ms after the engine refused`);
    return {
      answered: () => {
        this.#refusedAt.delete(lane);
        this.#refusals.delete(lane);
      },
      // A request sent before the last refusal arrived does not count as another refusal.
      refused: () => {
        if (begunAt <= (this.#refusedAt.get(lane) ?? -1)) return;
        this.#refusedAt.set(lane, this.#now);
        this.#refusals.set(lane, (this.#refusals.get(lane) ?? 0) + 1);
      },
    };
  }

  /** Records a trial request to an engine. */
  triedOut(process: SimProcess, model: string, works: boolean): void {
    const lane = laneOf(process, model);
    if (!works) return void this.#refusedAt.set(lane, this.#now);
    this.#refusedAt.delete(lane);
    this.#refusals.delete(lane);
  }

  get #now(): number {
    return this.#world.time.elapsed;
  }

  #begin(process: SimProcess, batchId: string, line: number, lane: string): Call {
    const { observer, plan } = this.#world;
    const key = `${batchId}/${line}`;
    const fail = (what: string) => observer.fail(`${process.name} sends ${key} ${what}`);
    const call: Call = {
      process,
      begunAt: this.#now,
      lease: observer.fences.leaseOf(batchId, line),
      endedAt: null,
      answered: false,
    };
    const lost = this.#lostFor(process, batchId, line);
    if (lost > lostMs) fail(`whose lease it lost ${lost} ms ago`);
    if (this.#released(process, batchId, line)) fail('which it released itself');
    const over = this.#overFor(process, batchId);
    if (over > overMs) fail(`whose batch ended ${over} ms ago`);
    for (const other of this.#calls.get(key) ?? [])
      if (this.#isWaste(other, call))
        fail(`which ${other.process.name} ${other.answered ? 'had an answer to' : 'is sending'}`);
    this.#calls.set(key, [...(this.#calls.get(key) ?? []), call]);
    const inFlight = (this.#inFlight.get(lane) ?? 0) + 1;
    this.#inFlight.set(lane, inFlight);
    if (inFlight > Math.ceil((plan.slots * 9) / 8))
      fail(`as call ${inFlight} to an engine of ${plan.slots} slots`);
    return call;
  }

  /** Milliseconds since the process could have noticed that it lost the line's lease; 0 while it holds the lease. */
  #lostFor(process: SimProcess, batchId: string, line: number): number {
    const chunk = this.#world.observer.fences.chunkOf(batchId, line);
    if (!chunk || (chunk.state === 'leased' && chunk.owner === process.worker)) return 0;
    return this.#now - Math.max(chunk.since - virtualEpoch, process.awakeAt);
  }

  #released({ worker }: SimProcess, batchId: string, line: number): boolean {
    const chunk = this.#world.observer.fences.chunkOf(batchId, line);
    return chunk?.state === 'ready' && chunk.by === 'batches.release' && chunk.from === worker;
  }

  /** Milliseconds since the process could have noticed that the end of the batch was decided. */
  #overFor(process: SimProcess, batchId: string): number {
    const { observer } = this.#world;
    const decided = observer.decidedAt.get(batchId);
    if (decided === undefined || observer.endingOf(batchId) === 'completed') return 0;
    return this.#now - Math.max(decided, process.troubledAt);
  }

  /** True if a line is sent again although its earlier sender is healthy and still runs it, or got its answer. */
  #isWaste(before: Call, call: Call): boolean {
    const { process, lease, answered, endedAt } = before;
    if (endedAt !== null && !answered) return false;
    if (!process.alive || !process.ready) return false;
    if (process === call.process && lease === call.lease) return true;
    return process.troubledAt < before.begunAt - 45_000;
  }

  #judgeEnd({ process }: Call, batchId: string, line: number): void {
    if (!process.alive) return;
    const over = this.#overFor(process, batchId);
    if (over > overMs)
      this.#world.observer.fail(
        `${process.name} got an answer to ${batchId}/${line}, whose batch ended ${over} ms ago`,
      );
  }

  /** Every answer must be durable soon. */
  #watch(): void {
    this.#world.time.after(2_000, () => {
      for (const [call, key] of this.#unrecorded)
        if (this.#isSettled(key, call)) this.#unrecorded.delete(call);
        else this.#judgeRecorded(key, call);
      this.#watch();
    });
  }

  #sample(): void {
    this.#world.time.after(1_000, () => {
      const { processes, plan } = this.#world;
      for (const model of plan.models) {
        // Processes share refusals with their peers.
        const refusals = processes.map((process) => this.#refusedAt.get(laneOf(process, model)) ?? 0);
        const refusedAt = Math.max(...refusals);
        for (const process of processes)
          if (process.alive && process.ready)
            this.#shares.sample(process, model, this.#inFlight.get(laneOf(process, model)) ?? 0, refusedAt);
      }
      this.#sample();
    });
  }

  /** True if the answer no longer has to be recorded. */
  #isSettled(key: string, { process }: Call): boolean {
    const { decidedAt, fences } = this.#world.observer;
    const at = key.lastIndexOf('/');
    const batchId = key.slice(0, at);
    return !process.alive || decidedAt.has(batchId) || fences.isRecorded(batchId, Number(key.slice(at + 1)));
  }

  #judgeRecorded(key: string, { process, endedAt }: Call): void {
    if (endedAt === null || !process.ready) return;
    const since = this.#now - Math.max(endedAt, process.troubledAt);
    if (since > recordMs)
      this.#world.observer.fail(`${process.name} has not recorded the answer to ${key} after ${since} ms`);
  }
}

function laneOf(process: SimProcess, model: string): string {
  return `${process.name} at ${model}`;
}
