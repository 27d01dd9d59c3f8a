import { type Batch, type BatchStatus } from '../../core/batch.ts';
import { searchText } from '../../core/batch-search.ts';
import type { Catalog } from '../../core/model.ts';
import type { WaitingReason } from '../../core/waiting.ts';
import type { AllBatchesQuery } from '../../store/contract/batches.ts';
import { namedModels } from './waiting.ts';

/** Reason for waiting, or any reason. */
export type WaitingFilter = WaitingReason | 'any';

/** Filters of operators over the batches of all orgs. */
export interface BatchFilters extends Pick<
  AllBatchesQuery,
  'after' | 'order' | 'createdAfter' | 'createdBefore'
> {
  limit: number;
  orgId?: string | undefined;
  /** Id or alias of a model that a request of the batch names. */
  model?: string | undefined;
  status?: BatchStatus | undefined;
  waiting?: WaitingFilter | undefined;
  atRisk?: boolean | undefined;
  /** Words of a search (core/batch-search.ts). */
  words?: readonly string[] | undefined;
}

/** Filters of a stream of batches: those of a list, without its pages. */
export type StreamFilters = Omit<BatchFilters, 'limit' | 'after' | 'order'>;

/** The part of a batch that filters look at and that changes. */
export interface MatchedState {
  status: BatchStatus;
  waiting: WaitingReason | null;
  atRisk: boolean;
}

export interface BatchMatcher {
  org: (orgId: string) => boolean;
  /** True if what never changes of a batch matches. */
  batch: (batch: Batch) => boolean;
  state: (state: MatchedState) => boolean;
}

export function createMatcher(models: Pick<Catalog, 'idOf'>, filters: StreamFilters): BatchMatcher {
  const { orgId, model, status, waiting, atRisk, createdAfter, createdBefore, words = [] } = filters;
  const org: BatchMatcher['org'] = (id) => orgId === undefined || id === orgId;
  return {
    org,
    batch: (batch) =>
      org(batch.orgId) &&
      (createdAfter === undefined || batch.createdAt >= createdAfter) &&
      (createdBefore === undefined || batch.createdAt < createdBefore) &&
      (model === undefined || namesModel(models, batch, model)) &&
      (words.length === 0 || hasWords(batch, words)),
    state: (state) =>
      (status === undefined || state.status === status) &&
      (waiting === undefined || waitsFor(waiting, state.waiting)) &&
      (atRisk === undefined || state.atRisk === atRisk),
  };
}

/** True if a request of the batch names the model, by its id or an alias. */
export function namesModel({ idOf }: Pick<Catalog, 'idOf'>, batch: Batch, model: string): boolean {
  const id = idOf(model);
  const isMeant = (name: string) => idOf(name) === id;
  return batch.model === null ? namedModels(batch).some(isMeant) : isMeant(batch.model);
}

export function waitsFor(waiting: WaitingFilter, reason: WaitingReason | null): boolean {
  return waiting === 'any' ? reason !== null : reason === waiting;
}

function hasWords(batch: Batch, words: readonly string[]): boolean {
  const text = searchText(batch);
  return words.every((word) => text.includes(word));
}
