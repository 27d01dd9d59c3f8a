import { budgetExceeded, isUsedUp, type SpentBudget } from '../../core/budget.ts';
import { ApiError, type ErrorCode } from '../../core/errors.ts';
import type { StoredFile } from '../../core/file.ts';
import { familyOf } from '../../core/key-family.ts';
import type { CallerLimits } from '../../core/limits.ts';
import type { SharedCatalog } from '../../core/model.ts';
import type { Caller } from '../../core/org.ts';
import {
  fits,
  type QueueLimit,
  queueLimits,
  type QuotaLimit,
  withDefaults,
} from '../../core/queue-limits.ts';
import type { InputIndex } from '../../files/input-index.ts';
import { fileByteLimits, tooMuchStored } from '../../files/quota.ts';
import type { OrgStore } from '../../store/contract/accounts.ts';
import type { BatchStore } from '../../store/contract/batches.ts';
import type { StorageStore } from '../../store/contract/storage.ts';
import type { BatchLimits } from '../batch-context.ts';

interface LimitDeps {
  catalog: Pick<SharedCatalog, 'idOf'>;
  limits: BatchLimits;
}

interface QuotaDeps extends LimitDeps {
  limits: BatchLimits & { storedBytes: number };
}

/** Limits on the unfinished batches of a caller. */
export function limitsFor({ catalog, limits }: LimitDeps, { limits: own }: Caller): CallerLimits {
  const { openBatchesPerOrg: openBatches, perOrg, perKey } = limits;
  return {
    org: withDefaults(own?.org, { openBatches, ...perOrg }, catalog.idOf),
    key: withDefaults(own?.key, perKey, catalog.idOf),
  };
}

/** Input of a batch, as far as limits count it. */
interface QuotaInput {
  file: Pick<StoredFile, 'bytes'>;
  index: InputIndex;
  /** Null for a file that is stored already. */
  sealed: object | null;
}

/** Limits and sums that a new batch counts against, and the errors with which its creation would be refused now. */
export interface BatchQuota {
  limits: QuotaLimit[];
  /** Budgets of the org and the key, with what is spent. */
  budgets: SpentBudget[];
  /** In the order of the checks at creation. */
  refusals: ApiError[];
}

/** Error for a batch that an operator would create for a disabled org, which would only wait until its window ends. */
export function orgDisabled(): ApiError {
  return new ApiError('org_disabled', 'The org of the batch is disabled. Enable it first.');
}

/** Compares a batch of these requests with all limits and budgets of the caller, as its creation does. */
export async function quotaOf(
  deps: QuotaDeps & {
    store: { batches: Pick<BatchStore, 'queued'>; orgs: Pick<OrgStore, 'budgets'>; storage: StorageStore };
  },
  caller: Caller,
  { file, index, sealed }: QuotaInput,
  billedAt: number,
): Promise<BatchQuota> {
  const { store } = deps;
  const { orgId } = caller;
  const family = familyOf(caller);
  const [budgets, used, stored] = await Promise.all([
    store.orgs.budgets(billedAt, caller),
    store.batches.queued(orgId, family),
    store.storage.stored([orgId, family]),
  ]);
  const tokens = tokensByModel(index, deps.catalog.idOf);
  const queue = queueLimits(limitsFor(deps, caller), used, { batches: 1, requests: index.count, tokens });
  const byteLimits = fileByteLimits(caller, deps.limits.storedBytes);
  const storage = (['org', 'key'] as const).flatMap((owner) => {
    const id = owner === 'org' ? orgId : family;
    const { fileBytes = 0 } = stored.find(({ ownerId }) => ownerId === id) ?? {};
    return storageLimit(owner, byteLimits[owner], fileBytes, sealed ? file.bytes : 0);
  });
  return {
    limits: [...queue, ...storage],
    budgets,
    refusals: [
      ...(caller.isOrgDisabled === true ? [orgDisabled()] : []),
      ...budgets.filter(isExhausted).map((budget) => budgetExceeded(budget, billedAt)),
      ...queue.filter((limit) => !fits(limit)).map((limit) => limitExceeded([limit])),
      ...storage.filter(isStorageFull).map(({ owner }) => tooMuchStored(owner, byteLimits)),
    ],
  };
}

/** Estimated tokens of an input, by model id. */
export function tokensByModel(
  { count, models, model, est }: InputIndex,
  idOf: (name: string) => string,
): Record<string, number> {
  const tokens: Record<string, number> = Object.create(null);
  for (let line = 0; line < count; line++) {
    const id = idOf(models[model[line]!]!);
    tokens[id] = (tokens[id] ?? 0) + est[line]!;
  }
  return tokens;
}

type StorageLimit = QuotaLimit & { name: 'stored_bytes' };

function storageLimit(
  owner: QuotaLimit['owner'],
  limit: number | undefined,
  used: number,
  adds: number,
): StorageLimit[] {
  return limit === undefined ? [] : [{ name: 'stored_bytes', owner, model: null, limit, used, adds }];
}

/** A batch of an uploaded file adds only its results, so it needs some room as well. */
function isStorageFull({ limit, used, adds }: StorageLimit): boolean {
  return adds > 0 ? used + adds > limit : used >= limit;
}

function isExhausted(budget: SpentBudget): boolean {
  return budget.hard !== false && isUsedUp(budget);
}

/** Error for a batch or a single request over its limits: for a limit that it could never fit, if there is one. */
export function limitExceeded(
  exceeded: readonly QueueLimit[],
  what: 'batch' | 'request' = 'batch',
): ApiError {
  const never = exceeded.find(({ limit, adds }) => adds > limit);
  const { name, owner, model, limit, used, adds } = never ?? exceeded[0]!;
  const whose = owner === 'org' ? 'organization' : 'API key';
  const units = {
    open_batches: 'unfinished batches',
    queued_requests: 'queued requests',
    queued_tokens: `queued tokens of the model '${model}'`,
  };
  const of = `${limit} ${units[name]} (${name})`;
  if (limit === 0)
    return new ApiError(
      code(name),
      `The limit of this ${whose}, ${of}, allows no ${what === 'batch' ? 'batches' : 'such requests'}. Ask the operator to raise it.`,
      { shouldRetry: false },
    );
  if (never)
    return new ApiError(
      code(name),
      `This ${what} adds ${adds}, and the limit of this ${whose} is ${of}. ${what === 'batch' ? 'Split the batch, or ask' : 'Ask'} the operator to raise the limit.`,
      { shouldRetry: false },
    );
  return new ApiError(
    code(name),
    `The limit of this ${whose}, ${of}, is used up: ${used} used, ${adds} needed. Try again when some have ended.`,
    { retryAfter: 60 },
  );
}

function code(name: QueueLimit['name']): ErrorCode {
  return name === 'open_batches' ? 'rate_limit_exceeded' : `${name}_exceeded`;
}
