import type { Clock } from '../../base/clock.ts';
import { Counts } from '../../base/counts.ts';
import type { ClaimRequest } from '../../store/contract/claim.ts';
import type { WaitingCause } from '../../core/waiting.ts';
import type { Catalog } from '../../core/model.ts';
import { isLate } from '../../core/urgency.ts';
import type { Capacity } from '../../inference/capacity.ts';
import type { Peers } from '../../inference/peers.ts';
import type { Controls } from '../../operator/controls.ts';
import type { MissingModels } from '../missing-models.ts';
import type { OpenHours } from '../open-hours.ts';
import { type ClaimedChunk, inFlightOf, unsentOf } from '../claimed/claimed-chunks.ts';
import type { PrefixAffinity } from '../claimed/prefix-affinity.ts';
import type { Recorder } from '../record/recorder.ts';
import type { LocalWork } from '../claimed/local-work.ts';

/** Lines that are claimed beyond those that the engines can take now. */
const minAhead = 64;
/** A claim also covers the lines that are answered within `ms`, at most `maxLines`, so that a fast engine costs few claims a second. */
const ahead = { ms: 250, maxLines: 512 } as const;
/** Orgs of a model that have lines claimed at a time. Further orgs take turns chunk by chunk. */
const maxOrgs = 64;
/** Orgs with late work that have lines claimed, beyond `maxOrgs` if necessary. */
const maxLateOrgs = 16;
/** An overload shorter than this ends before another process could claim released chunks. */
const briefMs = 5_000;
/** Length of an outage from which the peers' load is current: a dead process counts as available until its lease ends (`leaseLifeMs`). */
const peersCurrentMs = 35_000;

export interface ClaimDemandDeps {
  capacity: Pick<Capacity, 'room' | 'limit' | 'waiting'>;
  catalog: Catalog;
  peers: Pick<Peers, 'isServedElsewhere' | 'isAvailableElsewhere'>;
  hours: Pick<OpenHours, 'share'>;
  controls: Pick<Controls, 'pausing'>;
  missing: Pick<MissingModels, 'lost' | 'isLost'>;
  work: LocalWork;
  affinity: Pick<PrefixAffinity, 'missingChunks'>;
  recorder: Pick<Recorder, 'hasRoom'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
}

/** Claims no chunks for orgs beyond the wanted lines. */
const noOrgs: Pick<ClaimRequest, 'claimedDue' | 'moreOrgs' | 'moreLateOrgs'> = {
  claimedDue: {},
  moreOrgs: 0,
  moreLateOrgs: 0,
};

/** Answers to a model's lines since the last claim. */
interface AnswerRate {
  answered: number;
  claimedAt: number;
}

/** Number of lines that each model needs: the claimer claims them and the dispatcher sends them. */
export class ClaimDemand {
  #deps: ClaimDemandDeps;
  /** Models without ready chunks at the last claim; not claimed before the next wake-up or poll. */
  #dry = new Set<string>();
  /** Lines between their dispatch and their entry in the engine's own count. */
  readonly starting = new Counts();
  #rates = new Map<string, AnswerRate>();

  constructor(deps: ClaimDemandDeps) {
    this.#deps = deps;
  }

  /** Ids of the models to run now. Chunks of other models were claimed before the catalog changed or the hours ended. */
  models(): string[] {
    const { catalog, missing, hours } = this.#deps;
    const ids = catalog.list().map((model) => model.id);
    return [...ids.filter((id) => hours.share(id) > 0), ...missing.lost];
  }

  /** Notes that a claim found no ready chunks of a model. */
  noteDry(model: string): void {
    this.#dry.add(model);
  }

  /** Lets all models be claimed again. */
  refresh(): void {
    this.#dry.clear();
  }

  answered(model: string): void {
    const rate = this.#rates.get(model);
    if (rate) rate.answered++;
  }

  /** Number of lines that may be sent to a model now. */
  room(model: string): number {
    const { recorder, catalog, capacity, missing, hours, work } = this.#deps;
    if (!recorder.hasRoom) return 0;
    const starting = this.starting.of(model);
    if (missing.isLost(model)) return minAhead - starting;
    const room = capacity.room(catalog.idOf(model)) - starting;
    return hours.share(model) === 1 ? room : Math.min(room, this.limit(model) - work.chunks.inFlight(model));
  }

  /** Number of lines of a model that all processes together may have in flight. */
  limit(model: string): number {
    const { catalog, capacity, hours } = this.#deps;
    return Math.ceil(capacity.limit(catalog.idOf(model)) * hours.share(model));
  }

  /**
   * True if the model is unavailable here and other processes serve it too. This process then claims only the lines with which
   * it probes the model.
   */
  onlyProbes(model: string): boolean {
    const { capacity, peers } = this.#deps;
    const cause = capacity.waiting(model);
    if (!cause || (cause.code === 'engine_overloaded' && !this.#hasLasted(cause, briefMs))) return false;
    return peers.isServedElsewhere(model);
  }

  #hasLasted({ since }: WaitingCause, ms: number): boolean {
    return this.#deps.clock.now() - since >= ms;
  }

  /** True if this process should release the chunk: its model does not run here, is unavailable, or an operator paused it. */
  shouldRelease(claimed: ClaimedChunk, models: ReadonlySet<string>): boolean {
    const { capacity, peers, controls } = this.#deps;
    const { model, batch, lines } = claimed;
    if (!models.has(model) || controls.pausing(batch.orgId, model)) return true;
    const cause = capacity.waiting(model);
    if (!cause || this.room(model) > 0 || !this.onlyProbes(model)) return false;
    // The next owner does not know the attempts of the lines: a line that always fails would never end.
    const isUntried = inFlightOf(claimed) === 0 && lines.every(({ attempts }) => attempts.last === null);
    return isUntried || (this.#hasLasted(cause, peersCurrentMs) && peers.isAvailableElsewhere(model));
  }

  /** True if more lines of the model should be claimed. */
  wants(model: string): boolean {
    if (!this.#deps.recorder.hasRoom || this.#dry.has(model)) return false;
    return this.#lackingLines(model) > 0 || this.#lackingChunks(model) > 0;
  }

  /** Targets of the next claim, by model. */
  wanted(): ClaimRequest[] {
    const { recorder, catalog } = this.#deps;
    if (!recorder.hasRoom) return [];
    return this.models().flatMap((model) => {
      const { aliases = [] } = catalog.find(model) ?? {};
      const names = [model, ...aliases];
      const wanted = this.wants(model)
        ? { lines: this.#linesToClaim(model), chunks: this.#lackingChunks(model) }
        : { lines: 0, chunks: 0 };
      // A probe needs no more than its own lines.
      if (this.onlyProbes(model)) return wanted.lines > 0 ? { model, names, ...wanted, ...noOrgs } : [];
      const claimedDue = this.#claimedDue(model);
      const orgs = Object.values(claimedDue);
      if (wanted.lines + wanted.chunks === 0 && orgs.length === 0) return [];
      const moreOrgs = Math.max(0, maxOrgs - orgs.length);
      const moreLateOrgs = Math.max(0, maxLateOrgs - orgs.filter(isLate).length);
      return { model, names, ...wanted, claimedDue, moreOrgs, moreLateOrgs };
    });
  }

  #lackingLines(model: string): number {
    const spare = this.onlyProbes(model) ? 0 : minAhead;
    return Math.max(0, this.room(model)) + spare - this.#deps.work.chunks.unsent(model);
  }

  #lackingChunks(model: string): number {
    return this.onlyProbes(model) ? 0 : this.#deps.affinity.missingChunks(model);
  }

  /** Number of lines to claim; 0 if only prefixes are lacking. */
  #linesToClaim(model: string): number {
    const lacking = this.#lackingLines(model);
    if (lacking <= 0 || this.onlyProbes(model)) return Math.max(0, lacking);
    const now = this.#deps.clock.monotonic();
    const { answered, claimedAt } = this.#rates.get(model) ?? { answered: 0, claimedAt: now };
    this.#rates.set(model, { answered: 0, claimedAt: now });
    // At most as many as were answered, because a rate over a short time means little.
    const soon = Math.min(answered, (answered * ahead.ms) / Math.max(1, now - claimedAt), ahead.maxLines);
    return lacking + Math.floor(soon);
  }

  /** Lowest `due` of the claimed chunks of a model with unsent lines, by org. */
  #claimedDue(model: string): Record<string, number> {
    const least: Record<string, number> = {};
    for (const claimed of this.#deps.work.chunks.all) {
      const { orgId, due } = claimed.batch;
      if (claimed.model === model && unsentOf(claimed) > 0) least[orgId] = Math.min(least[orgId] ?? due, due);
    }
    return least;
  }
}
