import { describe, expect, it } from 'vitest';
import type { SpentBudget } from '../../core/budget.ts';
import type { CallerLimits } from '../../core/limits.ts';
import type { Caller } from '../../core/org.ts';
import { prefixLevels } from '../../files/input-index.ts';
import { limitExceeded, limitsFor, quotaOf } from './quota.ts';

const caller: Caller = { orgId: 'org_a', keyId: 'key_a', scopes: [], models: null };
const catalog = { idOf: (name: string) => (name === 'alias' ? 'm' : name) };

describe('the limits of a caller', () => {
  it('are those of its org and key, with the defaults of the configuration for those that are not set', () => {
    const limits = {
      openBatchesPerOrg: 1000,
      perOrg: { queuedRequests: 50, queuedTokens: { alias: 10, n: 20 } },
      perKey: { openBatches: 3 },
    };
    expect(limitsFor({ catalog, limits }, caller)).toEqual({
      org: { openBatches: 1000, queuedRequests: 50, queuedTokens: { m: 10, n: 20 } },
      key: { openBatches: 3 },
    });
    const own = { org: { openBatches: 7, queuedTokens: { m: 99 } }, key: { queuedRequests: 1 } };
    expect(limitsFor({ catalog, limits }, { ...caller, limits: own })).toEqual({
      org: { openBatches: 7, queuedRequests: 50, queuedTokens: { m: 99, n: 20 } },
      key: { openBatches: 3, queuedRequests: 1 },
    });
  });

  it('are shown with their use and what a batch adds', async () => {
    const index = {
      count: 3,
      models: ['alias', 'm'],
      offset: new Float64Array(3),
      length: new Uint32Array(3),
      model: Uint16Array.from([0, 1, 1]),
      est: Uint32Array.from([5, 6, 7]),
      hashes: new Uint32Array(3 * prefixLevels),
    };
    const work = { batches: 1, requests: 4, tokens: { m: 30 } };
    const spent = { orgId: 'org_a', keyId: null, amount: 5, period: 'total', usedUpAt: null } as const;
    const soft = { ...spent, keyId: 'key_a', spent: 9, hard: false };
    const kept = { ownerId: 'org_a', bytes: 0, fileBytes: 700, responses: 0 };
    let budgets: SpentBudget[] = [{ ...spent, spent: 4 }, soft];
    const deps = {
      catalog,
      limits: { openBatchesPerOrg: 9, perKey: { queuedTokens: { m: 40 } }, storedBytes: 1_000 },
      store: {
        batches: { queued: async () => ({ org: work, key: { ...work, tokens: {} } }) },
        orgs: { budgets: async () => budgets },
        storage: { stored: async () => [kept] },
      },
    };
    const inline = { file: { bytes: 300 }, index, sealed: {} };
    expect(await quotaOf(deps, caller, inline, 0)).toEqual({
      limits: [
        { name: 'open_batches', owner: 'org', model: null, limit: 9, used: 1, adds: 1 },
        { name: 'queued_tokens', owner: 'key', model: 'm', limit: 40, used: 0, adds: 18 },
        { name: 'stored_bytes', owner: 'org', model: null, limit: 1_000, used: 700, adds: 300 },
      ],
      budgets,
      refusals: [],
    });
    // Each of them refuses the batch, in the order of its creation.
    budgets = [{ ...spent, spent: 5 }, soft];
    deps.limits = { ...deps.limits, openBatchesPerOrg: 1, storedBytes: 999 };
    const codes = async (limits: CallerLimits | undefined, input: Parameters<typeof quotaOf>[2]) => {
      const { refusals } = await quotaOf(deps, { ...caller, ...(limits && { limits }) }, input, 0);
      return refusals.map(({ code }) => code);
    };
    const all = ['budget_exceeded', 'rate_limit_exceeded', 'storage_quota_exceeded'];
    expect(await codes(undefined, inline)).toEqual(all);
    // An uploaded file is stored already, and its results need room.
    const uploaded = { ...inline, sealed: null };
    expect(await codes(undefined, uploaded)).toEqual(all.slice(0, 2));
    const full = { org: { storedBytes: 700 }, key: {} };
    expect(await codes(full, uploaded)).toEqual(all);
  });
});

describe('a batch beyond a limit', () => {
  const tokens = { name: 'queued_tokens', owner: 'org', model: 'm', limit: 100, used: 60, adds: 50 } as const;
  const requests = { ...tokens, name: 'queued_requests', owner: 'key', model: null } as const;

  it('is refused with the limit, its use and the time to wait', () => {
    expect(limitExceeded([tokens])).toMatchObject({
      code: 'queued_tokens_exceeded',
      status: 429,
      retryAfter: 60,
      message:
        "The limit of this organization, 100 queued tokens of the model 'm' (queued_tokens), is used up: 60 used, 50 needed. " +
        'Try again when some have ended.',
    });
    expect(limitExceeded([requests])).toMatchObject({ code: 'queued_requests_exceeded', status: 429 });
    const open = { ...requests, name: 'open_batches', limit: 3, used: 3, adds: 1 } as const;
    expect(limitExceeded([open])).toMatchObject({
      code: 'rate_limit_exceeded',
      message:
        'The limit of this API key, 3 unfinished batches (open_batches), is used up: 3 used, 1 needed. ' +
        'Try again when some have ended.',
    });
  });

  it('is not to be repeated if it can never fit', () => {
    const error = limitExceeded([requests, { ...tokens, adds: 101 }]);
    expect(error).toMatchObject({
      code: 'queued_tokens_exceeded',
      shouldRetry: false,
      message:
        "This batch adds 101, and the limit of this organization is 100 queued tokens of the model 'm' (queued_tokens). " +
        'Split the batch, or ask the operator to raise the limit.',
    });
    expect(error.retryAfter).toBeUndefined();
    const none = { ...requests, name: 'open_batches', limit: 0, used: 0, adds: 1 } as const;
    expect(limitExceeded([none])).toMatchObject({
      shouldRetry: false,
      message:
        'The limit of this API key, 0 unfinished batches (open_batches), allows no batches. Ask the operator to raise it.',
    });
  });
});
