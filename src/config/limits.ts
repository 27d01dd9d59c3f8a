import type { Checker, SourceValue } from './source-value.ts';
import { dayMs } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import { nearestWord } from '../base/nearest-word.ts';
import {
  batchEndpoints,
  compatibleLimits,
  dateForms,
  defaultEndpoints,
  defaultFlexTimeoutMs,
  defaultLimits,
} from '../core/batch.ts';
import type { Config } from '../core/config.ts';
import { type UploadPurpose, uploadPurposes } from '../core/file.ts';
import type { Hours } from '../core/hours.ts';
import type { QueueLimits } from '../core/queue-limits.ts';
import type { RequestLimits } from '../core/limits.ts';
import { omitUndefined } from './context.ts';
import { hours } from './hours.ts';
import { configKeys } from './keys.ts';
import { windows } from './windows.ts';

/** Models that limits can name. */
export interface LimitedModels {
  list: Config['models'];
  /** True where other processes, which may serve more models, use the same database. */
  isShared: boolean;
}

export function limits(at: SourceValue | undefined, models: LimitedModels, check: Checker): Config['limits'] {
  const fields = check.object(at, configKeys.limits);
  const atLeastOne = { min: 1 };
  const bodyBytes = check.whole(fields.body_bytes, { min: 1024, max: 2 ** 30 }) ?? 8_388_608;
  const requests = check.whole(fields.requests_per_batch, { min: 1, max: 1_000_000 });
  const bytes = check.whole(fields.bytes_per_batch, { min: 1, max: 2 ** 30 });
  return {
    requestsPerBatch: requests ?? defaultLimits.requests,
    bytesPerBatch: bytes ?? defaultLimits.bytes,
    compatible: {
      requestsPerBatch: requests ?? compatibleLimits.requests,
      bytesPerBatch: bytes ?? compatibleLimits.bytes,
    },
    lineBytes: check.whole(fields.line_bytes, { min: 1024, max: 2 ** 30 }) ?? defaultLimits.lineBytes,
    openBatchesPerOrg: check.whole(fields.open_batches_per_org, atLeastOne) ?? 1000,
    bodyBytes,
    conversationBytes: check.whole(fields.conversation_bytes, { min: 1024, max: 2 ** 30 }) ?? bodyBytes,
    storedBytes: check.whole(fields.stored_bytes_per_org, atLeastOne) ?? 20 * 2 ** 30,
    storedResponses: check.whole(fields.stored_responses_per_org, atLeastOne) ?? 1_000_000,
    responseBytesPerOrg: check.whole(fields.response_bytes_per_org, atLeastOne) ?? 10 * 2 ** 30,
    ...(fields.disk_reserve_bytes && {
      diskReserveBytes: check.whole(fields.disk_reserve_bytes, { min: 0 }) ?? 0,
    }),
    bodyBytesInFlight: check.whole(fields.body_bytes_in_flight, { min: 1_048_576 }) ?? 268_435_456,
    connections: check.whole(fields.connections, { min: 16, max: 1_000_000 }) ?? 10_000,
    connectionsPerAddress: check.whole(fields.connections_per_address, atLeastOne) ?? 1000,
    anonymousPerSecond: check.whole(fields.anonymous_requests_per_second, atLeastOne) ?? 20,
    perOrg: requestLimits(fields.per_org, models, check),
    perKey: requestLimits(fields.per_key, models, check),
  };
}

/** Limits of each org or key that has none of its own. */
function requestLimits(
  at: SourceValue | undefined,
  models: LimitedModels,
  check: Checker,
): RequestLimits & QueueLimits {
  const fields = check.object(at, configKeys.requestLimits);
  const atLeastOne = { min: 1, max: 1_000_000_000 };
  return omitUndefined({
    requestsPerMinute: check.whole(fields.requests_per_minute, atLeastOne),
    inputTokensPerMinute: check.whole(fields.input_tokens_per_minute, atLeastOne),
    outputTokensPerMinute: check.whole(fields.output_tokens_per_minute, atLeastOne),
    concurrentRequests: check.whole(fields.concurrent_requests, atLeastOne),
    openBatches: check.whole(fields.open_batches, atLeastOne),
    queuedRequests: check.whole(fields.queued_requests, atLeastOne),
    queuedTokens: fields.queued_tokens && tokensByModel(fields.queued_tokens, models, check),
  });
}

/** Reads limits by the id or an alias of a model. */
function tokensByModel(
  at: SourceValue,
  { list, isShared }: LimitedModels,
  check: Checker,
): Record<string, number> {
  const found: Record<string, number> = {};
  if (!(at.value instanceof Map)) {
    check.fail(
      at,
      'expected an object of models and numbers',
      'For example queued_tokens: { qwen: 1000000 }',
    );
    return found;
  }
  for (const [name, field] of at.value) {
    const model = list.find(({ id, aliases }) => id === name || aliases.includes(name));
    const id = model?.id ?? name;
    if (!model && !isShared) {
      const nearest = nearestWord(
        name,
        list.flatMap((each) => [each.id, ...each.aliases]),
      );
      check.fail(field, `there is no model '${name}'`, nearest && `Did you mean '${nearest}'?`);
    } else if (Object.hasOwn(found, id))
      check.fail(field, `limits the model '${id}' twice`, 'Name the model once, by its id or an alias.');
    else found[id] = check.whole(field, { min: 0 }) ?? 0;
  }
  return found;
}

/** Settings of `batch`, with the default hours of models. */
export function batch(
  at: SourceValue | undefined,
  check: Checker,
): Config['batch'] & { hours: Hours | undefined } {
  const fields = check.object(at, configKeys.batch);
  const offered = windows(fields, check);
  const named = check
    .list(fields.endpoints, 'endpoint')
    ?.flatMap((item) => check.choice(item, batchEndpoints) ?? []);
  const endpoints = named && [...new Set(named)];
  const resultTtlMs = check.duration(fields.result_ttl) ?? 30 * dayMs;
  const keepMs = check.duration(fields.keep);
  if (keepMs !== undefined && keepMs < resultTtlMs)
    check.fail(
      fields.keep!,
      `is shorter than result_ttl (${formatDuration(resultTtlMs)}): results are removed with their batch`,
      'Keep batches at least as long as their results, or shorten result_ttl too.',
    );
  const maxSlowdown = check.number(fields.max_slowdown);
  if (maxSlowdown !== undefined && (maxSlowdown < 1 || maxSlowdown > 100))
    check.fail(
      fields.max_slowdown!,
      `must be a factor from 1 to 100, not ${maxSlowdown}`,
      'With 1.3, interactive requests may take 1.3 times as long alongside batches.',
    );
  return {
    endpoints: endpoints ?? defaultEndpoints,
    compatibleEndpoints: endpoints ?? compatibleLimits.endpoints,
    resultTtlMs,
    ...(keepMs !== undefined && { keepMs }),
    windows: offered,
    flexTimeoutMs: check.duration(fields.flex_timeout) ?? defaultFlexTimeoutMs,
    backgroundTimeoutMs: check.duration(fields.background_timeout) ?? dayMs,
    cancelGraceMs: check.duration(fields.cancel_grace) ?? 500,
    dates: check.choice(fields.dates, dateForms) ?? 'iso',
    lostModelAfterMs: check.duration(fields.lost_model_after) ?? 600_000,
    floor: {
      usual: check.number(fields.floor, { min: 0, max: 1 }) ?? 1 / 16,
      atRisk: check.number(fields.floor_at_risk, { min: 0, max: 1 }) ?? 1 / 4,
    },
    ...(maxSlowdown !== undefined && { maxSlowdown }),
    hours: hours(fields, { windows: offered }, check),
  };
}

/** Settings of `files`; a text is the store alone. `bucket.ts` reads the stores. */
export function files(
  at: SourceValue | undefined,
  { bytesPerBatch }: Config['limits'],
  check: Checker,
): Pick<Config['files'], 'purposes' | 'bytes'> & Record<'store' | 'fallback', SourceValue | undefined> {
  const isStore = typeof at?.value === 'string';
  const fields = check.object(isStore ? undefined : at, configKeys.files);
  const named = check.list(fields.purposes)?.flatMap((item) => check.choice(item, uploadPurposes) ?? []);
  if (fields.purposes && named && !named.includes('batch'))
    check.fail(fields.purposes, 'must include batch', 'Batch input files are always accepted.');
  return {
    store: isStore ? at : fields.store,
    fallback: fields.fallback,
    purposes: [...new Set<UploadPurpose>(['batch', ...(named ?? [])])],
    bytes: check.whole(fields.bytes, { min: 1, max: 2 ** 30 }) ?? bytesPerBatch,
  };
}
