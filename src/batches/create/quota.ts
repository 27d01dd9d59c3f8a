import { ApiError, type ErrorCode } from '../../core/errors.ts';
import type { CallerLimits } from '../../core/limits.ts';
import type { SharedCatalog } from '../../core/model.ts';
import type { Caller } from '../../core/org.ts';
import { type QueueLimit, queueLimits, withDefaults } from '../../core/queue-limits.ts';
import type { InputIndex } from '../../files/input-index.ts';
import type { Store } from '../../store/store.ts';
import type { BatchLimits } from '../batch-context.ts';

interface QuotaDeps {
  catalog: Pick<SharedCatalog, 'idOf'>;
  limits: BatchLimits;
}

/** Limits on the unfinished batches of a caller. */
export function limitsFor({ catalog, limits }: QuotaDeps, { limits: own }: Caller): CallerLimits {
  const { openBatchesPerOrg: openBatches, perOrg, perKey } = limits;
  return {
    org: withDefaults(own?.org, { openBatches, ...perOrg }, catalog.idOf),
    key: withDefaults(own?.key, perKey, catalog.idOf),
  };
}

/** Limits that a batch of these requests would count against, with their present use. */
export async function quotaOf(
  deps: QuotaDeps & { store: { batches: Pick<Store['batches'], 'queued'> } },
  caller: Caller,
  { count, models, model, est }: InputIndex,
): Promise<QueueLimit[]> {
  const tokens: Record<string, number> = Object.create(null);
  for (let line = 0; line < count; line++) {
    const id = deps.catalog.idOf(models[model[line]!]!);
    tokens[id] = (tokens[id] ?? 0) + est[line]!;
  }
  const used = await deps.store.batches.queued(caller.orgId, caller.keyId);
  return queueLimits(limitsFor(deps, caller), used, { batches: 1, requests: count, tokens });
}

/** Error for a batch that does not fit; first for one that can never fit. */
export function limitExceeded(exceeded: readonly QueueLimit[]): ApiError {
  const never = exceeded.find(({ limit, adds }) => adds > limit);
  const { name, owner, model, limit, used, adds } = never ?? exceeded[0]!;
  const whose = owner === 'org' ? 'organization' : 'API key';
  const unit = { open_batches: 'unfinished batches', queued_requests: 'queued requests', queued_tokens: '' }[
    name
  ];
  const what = unit || `queued tokens of the model '${model}'`;
  const of = `${limit} ${what} (${name})`;
  if (limit === 0)
    return new ApiError(
      code(name),
      `The limit of this ${whose}, ${of}, allows no batches. Ask the operator to raise it.`,
      {
        shouldRetry: false,
      },
    );
  if (never)
    return new ApiError(
      code(name),
      `This batch adds ${adds}, and the limit of this ${whose} is ${of}. Split the batch, or ask the operator to raise the limit.`,
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
