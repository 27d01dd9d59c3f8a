import type { Generate } from '../../generate/generate.ts';
import type { MissingModels } from '../missing-models.ts';
import type { PrefixLanes } from '../hand/prefix-lanes.ts';
import type { Recorder } from '../record/recorder.ts';
import type { WorkInHand } from '../hand/work-in-hand.ts';

/** Lines kept in hand beyond what the engines can take now. */
const prefetchLines = 64;

export interface DemandParts {
  generate: Pick<Generate, 'catalog' | 'room'>;
  /** Lines of the lost end as errors, which no engine holds up. */
  missing: Pick<MissingModels, 'lost' | 'isLost'>;
  work: WorkInHand;
  lanes: Pick<PrefixLanes, 'wants'>;
  recorder: Pick<Recorder, 'hasRoom'>;
}

/** Which models want lines, and how many: what the claimer fetches and the dispatcher sends. */
export class Demand {
  #parts: DemandParts;
  /** Models without a candidate when last asked; nobody asks again before the next wake-up or poll. */
  #dry = new Set<string>();
  #starting = new Map<string, number>();

  constructor(parts: DemandParts) {
    this.#parts = parts;
  }

  models(): string[] {
    const { generate, missing } = this.#parts;
    return [...generate.catalog.list().map((model) => model.id), ...missing.lost];
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

  /** How many lines may be sent to a model now. */
  room(model: string): number {
    const { recorder, generate, missing } = this.#parts;
    if (!recorder.hasRoom) return 0;
    const starting = this.#starting.get(model) ?? 0;
    if (missing.isLost(model)) return prefetchLines - starting;
    return generate.room(model) - starting;
  }

  /** Whether more lines of a model should be claimed. */
  wants(model: string): boolean {
    if (!this.#parts.recorder.hasRoom || this.#dry.has(model)) return false;
    const { work, lanes } = this.#parts;
    return work.held.unsent(model) < Math.max(0, this.room(model)) + prefetchLines || lanes.wants(model);
  }
}
