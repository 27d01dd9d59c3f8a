import type { Clock } from '../../base/clock.ts';
import type { ClaimRequest } from '../../store/contract/claim.ts';
import type { WaitingCause } from '../../core/waiting.ts';
import type { Catalog } from '../../core/model.ts';
import type { Capacity } from '../../inference/capacity.ts';
import type { Peers } from '../../inference/peers.ts';
import type { MissingModels } from '../missing-models.ts';
import type { OpenHours } from '../open-hours.ts';
import type { ClaimedChunk } from '../claimed/claimed-chunks.ts';
import type { PrefixAffinity } from '../claimed/prefix-affinity.ts';
import type { Recorder } from '../record/recorder.ts';
import type { LocalWork } from '../claimed/local-work.ts';

/** Lines kept in hand beyond what the engines can take now: below `leastAhead`, more are claimed. */
const minAhead = 64;
/** So that a fast engine costs a few claims a second, each brings what is answered in this time, and at most this many lines. */
const ahead = { ms: 250, most: 512 } as const;
/** A server that has too much to do takes requests again before others would have claimed what is given back. */
const briefMs = 5_000;
/**
 * So long after it came to wait a process knows whether the others do as well: one that died is counted among them, as one that
 * does not wait, until its lease is over (`leaseLifeMs`).
 */
const hearMs = 35_000;

export interface ClaimDemandDeps {
  capacity: Pick<Capacity, 'room' | 'limit' | 'waiting'>;
  catalog: Catalog;
  peers: Pick<Peers, 'isServedElsewhere' | 'isAvailableElsewhere'>;
  hours: Pick<OpenHours, 'share'>;
  /** Lines of the lost end as errors, which no engine holds up. */
  missing: Pick<MissingModels, 'lost' | 'isLost'>;
  work: LocalWork;
  affinity: Pick<PrefixAffinity, 'missingChunks'>;
  recorder: Pick<Recorder, 'hasRoom'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
}

/** How fast lines of a model are answered: what is sent again and again tells nothing. */
interface AnswerRate {
  /** Since the last claim. */
  answered: number;
  claimedAt: number;
}

/** Which models want lines, and how many: what the claimer fetches and the dispatcher sends. */
export class ClaimDemand {
  #deps: ClaimDemandDeps;
  /** Models of which nothing was to be had when last asked; nobody asks again before the next wake-up or poll. */
  #dry = new Set<string>();
  #starting = new Map<string, number>();
  #paces = new Map<string, AnswerRate>();

  constructor(deps: ClaimDemandDeps) {
    this.#deps = deps;
  }

  /** Those that run here now. What is in hand for any other was claimed before the catalog changed, or before its hours ended. */
  models(): string[] {
    const { catalog, missing, hours } = this.#deps;
    const ids = catalog.list().map((model) => model.id);
    return [...ids.filter((id) => hours.share(id) > 0), ...missing.lost];
  }

  noteDry(model: string): void {
    this.#dry.add(model);
  }

  refresh(): void {
    this.#dry.clear();
  }

  /** A line was taken but has not reached its engine's count yet. */
  starting(model: string, by: 1 | -1): void {
    this.#starting.set(model, (this.#starting.get(model) ?? 0) + by);
  }

  /** A line has its result. */
  answered(model: string): void {
    const pace = this.#paces.get(model);
    if (pace) pace.answered++;
  }

  /** How many lines may be sent to a model now. */
  room(model: string): number {
    const { recorder, catalog, capacity, missing, hours, work } = this.#deps;
    if (!recorder.hasRoom) return 0;
    const starting = this.#starting.get(model) ?? 0;
    if (missing.isLost(model)) return minAhead - starting;
    const room = capacity.room(catalog.idOf(model)) - starting;
    return hours.share(model) === 1 ? room : Math.min(room, this.limit(model) - work.chunks.inFlight(model));
  }

  /** How many lines of a model all processes together may have in flight now. */
  limit(model: string): number {
    const { catalog, capacity, hours } = this.#deps;
    return Math.ceil(capacity.limit(catalog.idOf(model)) * hours.share(model));
  }

  /**
   * Whether nothing of a model can be sent, while other processes serve it, too: this one then claims the lines with which it
   * tries whether its servers take requests again, and no others. Not whether those others can send them: they try as well.
   */
  onlyTries(model: string): boolean {
    const { capacity, peers } = this.#deps;
    const cause = capacity.waiting(model);
    if (!cause || (cause.code === 'engine_overloaded' && !this.#lasts(cause, briefMs))) return false;
    return peers.isServedElsewhere(model);
  }

  #lasts({ since }: WaitingCause, ms: number): boolean {
    return this.#deps.clock.now() - since >= ms;
  }

  /** Whether a chunk is for whoever claims it next: its model is not run here any more, or nothing of it can be sent. */
  isForOthers({ model, attempts, inFlight }: ClaimedChunk, models: ReadonlySet<string>): boolean {
    if (!models.has(model)) return true;
    const { capacity, peers } = this.#deps;
    const cause = capacity.waiting(model);
    if (!cause || this.room(model) > 0 || !this.onlyTries(model)) return false;
    // What became of its lines, or becomes of one that tries, nobody else would know: those that fail by themselves would
    // never be given up.
    const isUntried = inFlight === 0 && [...attempts.values()].every(({ last }) => last === null);
    return isUntried || (this.#lasts(cause, hearMs) && peers.isAvailableElsewhere(model));
  }

  /** Whether more lines of a model should be claimed. */
  wants(model: string): boolean {
    if (!this.#deps.recorder.hasRoom || this.#dry.has(model)) return false;
    return this.#lacking(model) > 0 || this.#lackingChunks(model) > 0;
  }

  /** What may be claimed now, of all models. */
  wanted(): ClaimRequest[] {
    const { recorder, catalog } = this.#deps;
    if (!recorder.hasRoom) return [];
    const inHand = this.#leastDue();
    return this.models().flatMap((model) => {
      const wants = this.wants(model);
      const before = this.onlyTries(model) ? {} : (inHand.get(model) ?? {});
      if (!wants && Object.keys(before).length === 0) return [];
      const { aliases = [] } = catalog.find(model) ?? {};
      const lines = wants ? this.#lines(model) : 0;
      return {
        model,
        names: [model, ...aliases],
        lines,
        chunks: wants ? this.#lackingChunks(model) : 0,
        claimedDue: before,
      };
    });
  }

  /** How many lines fewer are in hand than should be. */
  #lacking(model: string): number {
    const lacking = Math.max(0, this.room(model)) + minAhead - this.#deps.work.chunks.unsent(model);
    return lacking > 0 && this.onlyTries(model) ? lacking - minAhead : lacking;
  }

  #lackingChunks(model: string): number {
    const lacking = this.#deps.affinity.missingChunks(model);
    return lacking > 0 && this.onlyTries(model) ? 0 : lacking;
  }

  /** How many lines are claimed where some are lacking, and where only prefixes are, none. */
  #lines(model: string): number {
    const lacking = this.#lacking(model);
    if (lacking <= 0 || this.onlyTries(model)) return Math.max(0, lacking);
    const now = this.#deps.clock.monotonic();
    const { answered, claimedAt } = this.#paces.get(model) ?? { answered: 0, claimedAt: now };
    this.#paces.set(model, { answered: 0, claimedAt: now });
    // Never more than was answered since: a moment tells nothing of the pace.
    const soon = Math.min(answered, (answered * ahead.ms) / Math.max(1, now - claimedAt), ahead.most);
    return lacking + Math.floor(soon);
  }

  /** By model and org, what is due first of what waits in hand. */
  #leastDue(): Map<string, Record<string, number>> {
    const least = new Map<string, Record<string, number>>();
    for (const { model, batch, todo } of this.#deps.work.chunks.all) {
      if (todo.length === 0) continue;
      const ofModel = least.get(model) ?? {};
      least.set(model, ofModel);
      ofModel[batch.orgId] = Math.min(ofModel[batch.orgId] ?? Number.POSITIVE_INFINITY, batch.due);
    }
    return least;
  }
}
