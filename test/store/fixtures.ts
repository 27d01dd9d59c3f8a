import { readUsage } from '../../src/accounts/usage.ts';
import type { Batch, Chunk } from '../../src/core/batch.ts';
import type { SuspectAllowance } from '../../src/core/fair-queueing.ts';
import type { StoredFile } from '../../src/core/file.ts';
import { type ApiKey, keyDefaults, type Org, orgDefaults } from '../../src/core/org.ts';
import type { Webhook } from '../../src/core/webhook.ts';
import type { IdPrefix } from '../../src/base/ids.ts';
import type { Store } from '../../src/store/store.ts';
import type { Lease } from '../../src/store/contract/claim.ts';
import type { IdempotencyToken } from '../../src/store/contract/idempotency.ts';
import { type LedgerCommit, type LedgerEntry, type LedgerRow } from '../../src/store/contract/accounts.ts';
import type { Stored } from '../../src/store/contract/storage.ts';
import { exactCost, noCost } from '../../src/core/price.ts';
import type { LineResult } from '../../src/store/contract/results.ts';

/** Start time of these tests: 2026-11-21T10:00:00Z. */
export const start = 1_795_255_200_000;
export const day = '2026-11-21';
export const hour = 3_600_000;

/** `readUsage` with the rows in a list. */
export async function readUsageRows(...asked: Parameters<typeof readUsage>) {
  const report = await readUsage(...asked);
  return { ...report, rows: [...report.rows] };
}

let counter = 0;

/** IDs that sort by creation, like the real ones. */
export function nextId(prefix: IdPrefix): string {
  return prefix + (++counter).toString(16).padStart(32, '0');
}

export function makeOrg(fields: Partial<Org> = {}): Org {
  return { id: nextId('org_'), name: 'Acme', createdAt: start, ...orgDefaults, ...fields };
}

export function makeKey(fields: Partial<ApiKey> = {}): ApiKey {
  return {
    id: nextId('key_'),
    orgId: 'org_a',
    name: 'laptop',
    prefix: 'sk-op-1234...abcd',
    scopes: ['inference', 'batches'],
    models: null,
    createdAt: start,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    ...keyDefaults,
    ...fields,
  };
}

export function makeWebhook(fields: Partial<Webhook> = {}): Webhook {
  return {
    id: nextId('wh_'),
    orgId: 'org_a',
    name: 'ours',
    url: 'https://example.com/hook',
    eventTypes: ['batch.completed', 'batch.cancelled', 'batch.at_risk'],
    createdAt: start,
    disabledAt: null,
    disabledReason: null,
    ...fields,
  };
}

export function makeFile(fields: Partial<StoredFile> = {}): StoredFile {
  return {
    id: nextId('file-'),
    orgId: 'org_a',
    keyId: 'key_a',
    purpose: 'batch',
    filename: 'requests.jsonl',
    bytes: 4_096,
    blobId: nextId('blob_'),
    sha256: 'ab'.repeat(32),
    requests: 8,
    endpoint: '/v1/chat/completions',
    warnings: [{ code: 'unknown_field', field: 'max_token', count: 2, suggestion: 'max_tokens', line: 3 }],
    createdAt: start,
    expiresAt: null,
    ...fields,
  };
}

export function makeBatch(fields: Partial<Batch> = {}): Batch {
  return {
    id: nextId('batch_'),
    orgId: 'org_a',
    keyId: 'key_a',
    keyFamily: null,
    endpoint: '/v1/chat/completions',
    status: 'validating',
    total: 8,
    ok: 0,
    err: 0,
    est: 200,
    priority: 5,
    due: start,
    closing: null,
    acceptUntil: start + 24 * hour + 2_000,
    inputFileId: 'file-a',
    inputName: null,
    outputFileId: null,
    errorFileId: null,
    model: 'm1',
    metadata: null,
    tag: '',
    prices: { m1: { input: 100_000_000, cachedInput: 50_000_000, output: 400_000_000 } },
    priceFactor: 0.5,
    windowMs: 24 * hour,
    errors: [],
    warnings: [{ code: 'unknown_field', field: 'max_token', count: 2, suggestion: 'max_tokens', line: 3 }],
    pausedAt: null,
    pausedMs: 0,
    atRiskAt: null,
    retryOf: null,
    tier: null,
    resultTtlMs: 30 * 24 * hour,
    createdAt: start,
    inProgressAt: null,
    expiresAt: start + 24 * hour,
    completedAt: null,
    failedAt: null,
    expiredAt: null,
    cancellingAt: null,
    cancelledAt: null,
    ...fields,
  };
}

/** Chunks of `size` lines that cover the whole batch. */
export function makeChunks(batch: Batch, size = 4, model = 'm1'): Chunk[] {
  const chunks: Chunk[] = [];
  for (let first = 0; first < batch.total; first += size)
    chunks.push({
      batchId: batch.id,
      seq: chunks.length + 1,
      model,
      prefix: `p${first}`,
      lines: Array.from({ length: Math.min(size, batch.total - first) }, (_, i) => ({
        line: first + i,
        offset: (first + i) * 100,
        length: 99,
      })),
      est: 100,
      epoch: 0,
      kills: 0,
    });
  return chunks;
}

/** Stores a batch with its input file, ready to be claimed. */
export async function addBatch(
  store: Store,
  fields: Partial<Batch> = {},
  chunks?: (batch: Batch) => Chunk[],
): Promise<Batch> {
  const file = makeFile({ orgId: fields.orgId ?? 'org_a' });
  await store.files.insert(file, undefined, start);
  const batch = makeBatch({ inputFileId: file.id, ...fields });
  const outcome = await store.batches.create(batch, (chunks ?? makeChunks)(batch), {
    limits: { org: { openBatches: 100_000 }, key: {} },
    now: start,
  });
  if (outcome.outcome !== 'created') throw new Error(`The batch was not created: ${outcome.outcome}`);
  return batch;
}

export function makeCreation(fields: Partial<IdempotencyToken> = {}): IdempotencyToken {
  return {
    token: 'k:/v1/files:one',
    bodyHash: 'aa',
    startedAt: start,
    retry: 0,
    ttlMs: 24 * hour,
    ...fields,
  };
}

const encoder = new TextEncoder();
export const text = (body: Uint8Array) => new TextDecoder().decode(body);

export function output(batch: Batch | string, line: number, fields: Partial<LineResult> = {}): LineResult {
  const usage = fields.usage ?? {
    inputTokens: 10,
    cachedTokens: 4,
    cacheWriteTokens: 0,
    outputTokens: 3,
    reasoningTokens: 2,
  };
  const { prices, priceFactor } = typeof batch === 'string' ? makeBatch() : batch;
  const price = prices[fields.model ?? 'm1'];
  return {
    batchId: typeof batch === 'string' ? batch : batch.id,
    cost: price && fields.stream !== 'errors' ? exactCost(usage, price, priceFactor) : noCost,
    line,
    stream: 'output',
    body: encoder.encode(`{"line":${line}}`),
    model: 'm1',
    usage,
    attempts: 1,
    code: null,
    ...fields,
  };
}

let commits = 0;

/** Adds rows to the ledger, each with its amount, as a commit of its own. */
export function addToLedger(
  { ledger }: Pick<Store, 'ledger'>,
  rows: readonly (Omit<LedgerRow, 'endpoint' | 'tag'> & Partial<LedgerRow>)[],
  commit: Pick<LedgerCommit, 'writer' | 'number'> = { writer: 'w', number: ++commits },
): Promise<void> {
  const entries = rows.map(({ amount, ...row }): LedgerEntry => ({
    endpoint: '',
    tag: '',
    ...row,
    cost: { nano: amount ?? 0, parts: 0 },
  }));
  return ledger.add(entries, { at: start, ...commit });
}

export function failure(batch: Batch | string, line: number, fields: Partial<LineResult> = {}): LineResult {
  const code = fields.code ?? 'upstream_error';
  const body = encoder.encode(JSON.stringify({ error: { code, message: `Line ${line} failed.` } }));
  return output(batch, line, { stream: 'errors', code, body, ...fields });
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

export const lease = ({ batchId, seq, epoch }: Lease): Lease => ({ batchId, seq, epoch });

export const anySuspects: SuspectAllowance = { minKills: 99, max: 0, mayTakeAlone: false };

/** Leases up to `count` chunks of one batch and model. */
export async function claimOf(
  store: Store,
  worker: string,
  batchId: string,
  { count = 1, model = 'm1', now = start, suspects = anySuspects }: ClaimOf = {},
): Promise<Chunk[]> {
  const claimed: Chunk[] = [];
  while (claimed.length < count) {
    const wanted = {
      model,
      names: [model],
      lines: 0,
      chunks: count - claimed.length,
      claimedDue: {},
      moreOrgs: 0,
    };
    const claim = await store.batches.claim(worker, [wanted], { now, suspects, only: [batchId] });
    if (claim.faults.length > 0) throw new Error(claim.faults[0]!.message);
    if (claim.chunks.length === 0) break;
    claimed.push(...claim.chunks);
  }
  return claimed;
}

export interface ClaimOf {
  count?: number;
  model?: string;
  now?: number;
  suspects?: SuspectAllowance;
}

/** Models of ready chunks, in order; no process serves any in these tests. */
export async function readyModels(store: Store): Promise<string[]> {
  return (await store.workers.missingModels(start)).map(({ model }) => model);
}

/** Batches that wait to be closed, the most urgent first. */
export async function batchesToClose(store: Store): Promise<string[]> {
  const { chunks } = await store.batches.claimClosings('looks', 1_000);
  await store.batches.release('looks', chunks);
  const due = new Map(
    await Promise.all(
      chunks.map(async ({ batchId }) => [batchId, (await store.batches.find(batchId))!.due] as const),
    ),
  );
  return [...due].toSorted((a, b) => a[1] - b[1]).map(([id]) => id);
}

/** Leases the closing chunk of a batch whose end is decided. */
export async function claimClosing(store: Store, worker: string, batchId: string): Promise<Lease> {
  const { chunks } = await store.batches.claimClosings(worker, 1_000);
  const chunk = chunks.find((each) => each.batchId === batchId);
  await store.batches.release(
    worker,
    chunks.filter((each) => each !== chunk),
  );
  if (!chunk) throw new Error(`The closing chunk of ${batchId} is not to be had.`);
  return lease(chunk);
}

/** Ends a batch whose end is decided, recording its missing lines as errors. */
export async function closeBatch(store: Store, batchId: string, now = start): Promise<Batch> {
  const closing = await claimClosing(store, 'closer', batchId);
  await store.batches.closeGate('closer', closing);
  const missing = await store.results.missing(batchId, 0, 100_000);
  await store.results.recordMissing(
    'closer',
    closing,
    missing.map((line) => failure(batchId, line, { code: 'batch_cancelled' })),
    now,
  );
  const files = {
    output: makeFile({ purpose: 'batch_output', filename: `${batchId}_output.jsonl` }),
    errors: makeFile({ purpose: 'batch_output', filename: `${batchId}_errors.jsonl` }),
  };
  const outcome = await store.batches.publish('closer', closing, files, now);
  if (outcome !== 'published') throw new Error(`The batch was not published: ${outcome}`);
  return (await store.batches.find(batchId))!;
}

/** Lines of the batch that are claimed and not recorded. */
export async function runningLines(store: Pick<Store, 'batches'>, batchId: string): Promise<number> {
  return (await store.batches.snapshot(batchId))?.running ?? 0;
}

/** Returns what an org or a key stores. */
export async function storedBy(store: Pick<Store, 'storage'>, ownerId = 'org_a'): Promise<Stored> {
  const [found] = await store.storage.stored([ownerId]);
  return found ?? { ownerId, bytes: 0, fileBytes: 0, responses: 0 };
}

/** Returns the bytes of an org that count toward the response quota. */
export async function storedBytes(store: Pick<Store, 'storage'>, orgId = 'org_a'): Promise<number> {
  return (await storedBy(store, orgId)).bytes;
}
