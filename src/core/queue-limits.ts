import type { CallerLimits, Limits } from './limits.ts';

/** Limits on the unfinished batches of an org or a key. */
export type QueueLimits = Pick<Limits, 'openBatches' | 'queuedRequests' | 'queuedTokens'>;

/**
 * Unfinished work of an org or a key: batches, their requests without a result, and the estimated tokens of these requests by model.
 * It is computed from the batches, so that nothing has to be released when a request or a batch ends.
 */
export interface QueuedWork {
  batches: number;
  requests: number;
  tokens: Readonly<Record<string, number>>;
}

export const noWork: QueuedWork = { batches: 0, requests: 0, tokens: {} };

/** One limit, and what a new batch adds to its use. */
export interface QueueLimit {
  name: 'open_batches' | 'queued_requests' | 'queued_tokens';
  owner: 'org' | 'key';
  /** Model of `queued_tokens`, else null. */
  model: string | null;
  limit: number;
  used: number;
  adds: number;
}

/** A limit that a new batch counts against; that on stored bytes counts its inline requests. */
export interface QuotaLimit extends Omit<QueueLimit, 'name'> {
  name: QueueLimit['name'] | 'stored_bytes';
}

/** Limits on the unfinished batches that apply to a new batch, with their use. */
export function queueLimits(
  limits: CallerLimits,
  used: Readonly<Record<keyof CallerLimits, QueuedWork>>,
  adds: QueuedWork,
): QueueLimit[] {
  return (['org', 'key'] as const).flatMap((owner): QueueLimit[] => {
    const { openBatches, queuedRequests, queuedTokens = {} } = limits[owner];
    const { batches, requests, tokens } = used[owner];
    const one = { owner, model: null };
    const models = Object.keys(adds.tokens).filter((model) => queuedTokens[model] !== undefined);
    return [
      openBatches === undefined
        ? []
        : { ...one, name: 'open_batches' as const, limit: openBatches, used: batches, adds: adds.batches },
      queuedRequests === undefined
        ? []
        : {
            ...one,
            name: 'queued_requests' as const,
            limit: queuedRequests,
            used: requests,
            adds: adds.requests,
          },
      models.map((model) => ({
        name: 'queued_tokens' as const,
        owner,
        model,
        limit: queuedTokens[model]!,
        used: tokens[model] ?? 0,
        adds: adds.tokens[model]!,
      })),
    ].flat();
  });
}

export function fits({ limit, used, adds }: QueueLimit): boolean {
  return used + adds <= limit;
}

/** Own limits, with defaults for those that are not set. The models of `queuedTokens` are turned into ids. */
export function withDefaults(
  own: QueueLimits | undefined,
  defaults: QueueLimits | undefined,
  idOf: (model: string) => string,
): QueueLimits {
  const ids = (of: QueueLimits | undefined) =>
    Object.entries(of?.queuedTokens ?? {}).map(([model, limit]) => [idOf(model), limit] as const);
  const openBatches = own?.openBatches ?? defaults?.openBatches;
  const queuedRequests = own?.queuedRequests ?? defaults?.queuedRequests;
  const tokens = [...ids(defaults), ...ids(own)];
  return {
    ...(openBatches !== undefined && { openBatches }),
    ...(queuedRequests !== undefined && { queuedRequests }),
    ...(tokens.length > 0 && { queuedTokens: Object.fromEntries(tokens) }),
  };
}
