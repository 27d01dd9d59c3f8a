import type { Inference, LineAnswer, LineCall } from '../../src/inference/inference.ts';
import { virtualEpoch } from '../support/virtual-clock.ts';
import { Shares } from './shares.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

/** A process sends nothing more of what was taken from it, and ends the work of a batch that ends some seconds later. */
const lostMs = 1_500;
const overMs = 5_000;
/** An answer is durable this soon after it was given, where nothing is in the way: the longest pause after what was. */
const recordMs = 6_000;
/** The least pause before an engine that takes nothing is asked again, and how many tries tell that it does not: lines that were refused before are among them. */
const probeMs = 400;
const probes = 6;

interface Call {
  process: SimProcess;
  begunAt: number;
  /** The lease it was sent under. */
  epoch: number;
  endedAt: number | null;
  answered: boolean;
}

/** A request on its way to an engine. */
interface Asked {
  answered: () => void;
  refused: () => void;
}

const decoder = new TextDecoder();
/** More lines than any world sends at one instant. */
const mostAtOnce = 5_000;

/** Every line that any process sends, and the rules of sending: under a lease, once, while there is room, to who takes it. */
export class Calls {
  #world: World;
  #shares: Shares;
  /** By batch and line. */
  #calls = new Map<string, Call[]>();
  /** Those whose answer may not be durable yet. */
  #unrecorded = new Map<Call, string>();
  #inFlight = new Map<string, number>();
  /** When an engine refused a process last, and no answer came since. */
  #refusedAt = new Map<string, number>();
  /** Refusals since the last answer. */
  #refusals = new Map<string, number>();
  /** Lines sent at this instant. */
  #instant = 0;
  #sentNow = 0;

  constructor(world: World) {
    this.#world = world;
    this.#shares = new Shares(world);
    this.#watch();
    this.#sample();
  }

  /** Inference as one process sees it, with every line noted. */
  seenThrough(process: SimProcess, inference: Inference): Inference {
    return { ...inference, runLine: (line) => this.#run(process, inference, line) };
  }

  async #run(process: SimProcess, inference: Inference, line: LineCall): Promise<LineAnswer> {
    const [, name = '', at = ''] = /item (\w+) (\d+)/.exec(line.asked.request().text) ?? [];
    const batchId = this.#world.idOf(name);
    const lane = laneOf(process, line.model.id);
    if (this.#world.damaged.isPlanned) this.#judgeText(name, Number(at), line);
    if (this.#isEndless()) return new Promise(() => {});
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

  /** What is sent is what was stored, whatever became of that. */
  #judgeText(name: string, at: number, line: LineCall): void {
    const { bytes, index } = this.#world.inputOf(name) ?? this.#world.inputs[0]!;
    const start = index.offset[at] ?? 0;
    const stored = decoder.decode(bytes.subarray(start, start + (index.length[at] ?? 0)));
    if (!stored.includes(line.asked.request().text))
      this.#world.observer.fail(`line ${at} of ${name} is sent as it was never stored`);
  }

  /** Lines that are sent and refused without end let no time pass: nothing else would ever happen. */
  #isEndless(): boolean {
    if (this.#instant !== this.#now) this.#sentNow = 0;
    this.#instant = this.#now;
    if (++this.#sentNow < mostAtOnce) return false;
    if (this.#sentNow === mostAtOnce) this.#world.observer.fail('lines are sent without end');
    return true;
  }

  /** An engine is asked by a process. What comes of it is noted there: its process hears of it before the line does. */
  asked(process: SimProcess, model: string): Asked {
    const lane = laneOf(process, model);
    const begunAt = this.#now;
    const refusedAt = this.#refusedAt.get(lane) ?? Number.NEGATIVE_INFINITY;
    if (begunAt - refusedAt < probeMs && (this.#refusals.get(lane) ?? 0) >= probes)
      this.#world.observer.fail(`${lane} is asked ${begunAt - refusedAt} ms after the engine refused`);
    return {
      answered: () => {
        this.#refusedAt.delete(lane);
        this.#refusals.delete(lane);
      },
      // What was sent before a refusal came does not count beside it.
      refused: () => {
        if (begunAt <= (this.#refusedAt.get(lane) ?? -1)) return;
        this.#refusedAt.set(lane, this.#now);
        this.#refusals.set(lane, (this.#refusals.get(lane) ?? 0) + 1);
      },
    };
  }

  /** An engine was given the least work there is. */
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
      epoch: observer.fences.chunkOf(batchId, line)?.epoch ?? 0,
      endedAt: null,
      answered: false,
    };
    const lost = this.#lostFor(process, batchId, line);
    if (lost > lostMs) fail(`whose lease it lost ${lost} ms ago`);
    if (this.#gaveBack(process, batchId, line)) fail('which it gave back itself');
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

  /** How long ago the line's lease was taken from this process, as far as it could have noticed; 0 while it holds it. */
  #lostFor(process: SimProcess, batchId: string, line: number): number {
    const chunk = this.#world.observer.fences.chunkOf(batchId, line);
    if (!chunk || (chunk.state === 'leased' && chunk.owner === process.worker)) return 0;
    return this.#now - Math.max(chunk.since - virtualEpoch, process.awakeAt);
  }

  #gaveBack({ worker }: SimProcess, batchId: string, line: number): boolean {
    const chunk = this.#world.observer.fences.chunkOf(batchId, line);
    return chunk?.state === 'ready' && chunk.by === 'batches.release' && chunk.from === worker;
  }

  /** How long ago the end of the batch was decided, as far as the process could have noticed. */
  #overFor(process: SimProcess, batchId: string): number {
    const { observer } = this.#world;
    const decided = observer.decidedAt.get(batchId);
    if (decided === undefined || observer.endingOf(batchId) === 'completed') return 0;
    return this.#now - Math.max(decided, process.troubledAt);
  }

  /** Whether a line is sent again although whoever sent it before is well, has it in hand, or had its answer. */
  #isWaste(before: Call, call: Call): boolean {
    const { process, epoch, answered, endedAt } = before;
    if (endedAt !== null && !answered) return false;
    if (!process.alive || !process.ready) return false;
    if (process === call.process && epoch === call.epoch) return true;
    return process.troubledAt < before.begunAt - 45_000;
  }

  #judgeEnd({ process }: Call, batchId: string, line: number): void {
    if (!process.alive) return;
    const over = this.#overFor(process, batchId);
    if (over > overMs)
      this.#world.observer.fail(
        `${process.name} had ${batchId}/${line} answered, whose batch ended ${over} ms ago`,
      );
  }

  /** Answers do not lie about: every one is durable before long. */
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
        // They tell one another.
        const refusals = processes.map((process) => this.#refusedAt.get(laneOf(process, model)) ?? 0);
        const refusedAt = Math.max(...refusals);
        for (const process of processes)
          if (process.alive && process.ready)
            this.#shares.sample(process, model, this.#inFlight.get(laneOf(process, model)) ?? 0, refusedAt);
      }
      this.#sample();
    });
  }

  /** Nothing is to come of its answer any more. */
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
      this.#world.observer.fail(`${process.name} keeps the answer to ${key} for ${since} ms`);
  }
}

function laneOf(process: SimProcess, model: string): string {
  return `${process.name} at ${model}`;
}
