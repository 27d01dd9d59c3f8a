import { type Clock, dayMs, hourMs, type Timer } from '../../base/clock.ts';
import { Counts } from '../../base/counts.ts';
import { groupsOf } from '../../base/groups-of.ts';
import type { Actor } from '../../core/audit.ts';
import { type ActionProgress, type BatchAction, inapplicable, maxFailures } from '../../core/batch-action.ts';
import { type Batch, linesLeft } from '../../core/batch.ts';
import { ApiError, idempotencyMismatch, notFound } from '../../core/errors.ts';
import { type Caller, isActive } from '../../core/org.ts';
import type { IdempotencyToken } from '../../store/contract/idempotency.ts';
import type { Store } from '../../store/store.ts';
import type { BatchContext } from '../batch-context.ts';
import type { ActionPreview, ActionRequest } from '../../wire/batch/actions.ts';

/** Maximum batches of one action. */
const maxBatches = 10_000;
const pollMs = 1_000;
/** A process that does not record progress for this long has died. */
const leaseMs = 30_000;
/** Time for which ended actions are kept, and interval of their removal. */
const keepMs = 7 * dayMs;
const removeEveryMs = hourMs;
/** Batches that one statement reads. */
const perRead = 250;

/** Carries out an action on one batch. An ApiError is its failure. */
export type ActOnBatch = (action: BatchAction, batchId: string) => Promise<'done' | 'skipped' | ApiError>;

export interface BatchActionsDeps extends Pick<BatchContext, 'worker' | 'clock' | 'ids' | 'log'> {
  store: Pick<Store, 'actions' | 'batches' | 'keys'>;
  /** Time of the database. */
  time: Pick<Clock, 'now'>;
  act: ActOnBatch;
  /** Rows of the batches that match, oldest first. @param orgId all orgs if absent */
  matching: (
    orgId: string | undefined,
    filter: NonNullable<ActionRequest['filter']>,
    signal: AbortSignal,
  ) => AsyncIterable<Batch[]>;
}

/** Caller of an action; `orgId` limits it to an org, `actor` is an operator. */
export interface ActionCaller {
  caller: Caller;
  /** Org of the batches; any org for an operator's action without one. */
  orgId: string | undefined;
  actor: Actor | null;
}

/**
 * Actions on many batches: the ids are fixed when an action begins, so that it does what its preview counted. Any process carries it out,
 * one batch after the other, and continues what a process that died has left.
 */
export class BatchActions {
  #deps: BatchActionsDeps;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #isWanted = false;
  #stopped = true;
  #removeAt = 0;

  constructor(deps: BatchActionsDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopped = false;
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
    const { store, worker, log } = this.#deps;
    // Actions that are not released now wait for the end of their leases.
    await store.actions
      .release(worker)
      .catch((error: unknown) => log.warn({ err: error }, 'actions on batches could not be released'));
  }

  async preview(by: ActionCaller, request: ActionRequest, signal: AbortSignal): Promise<ActionPreview> {
    const { batches, missing } = await this.#batchesOf(by, request, signal);
    const skipped = new Counts();
    if (missing > 0) skipped.add('not_found', missing);
    let changes = 0;
    let requests = 0;
    for (const batch of batches) {
      const reason = inapplicable(request.options, batch);
      if (reason !== null) skipped.add(reason, 1);
      else {
        changes++;
        requests += request.options.kind === 'retry' ? batch.err : linesLeft(batch);
      }
    }
    return { matched: batches.length + missing, changes, requests, skipped: new Map(skipped) };
  }

  async create(
    by: ActionCaller,
    request: ActionRequest,
    creation: IdempotencyToken | undefined,
    signal: AbortSignal,
  ): Promise<{ action: BatchAction; replayed: boolean }> {
    const { store, ids, time } = this.#deps;
    const chosen = request.ids ?? (await this.#batchesOf(by, request, signal)).batches.map(({ id }) => id);
    const action: BatchAction = {
      id: ids.next('act_'),
      orgId: by.actor ? null : by.caller.orgId,
      keyId: by.caller.keyId,
      keyFamily: by.caller.keyFamily ?? null,
      options: request.options,
      status: 'running',
      total: chosen.length,
      position: 0,
      done: 0,
      failed: 0,
      skipped: 0,
      failures: [],
      actor: by.actor,
      createdAt: time.now(),
      endedAt: null,
    };
    const outcome = await store.actions.create(action, chosen, by.caller.orgId, creation);
    if (outcome.outcome === 'mismatch') throw idempotencyMismatch();
    this.#wake();
    if (outcome.outcome === 'created') return { action, replayed: false };
    return { action: await this.get(by, outcome.id), replayed: true };
  }

  /** @throws ApiError `not_found` */
  async get({ caller, actor }: Pick<ActionCaller, 'caller' | 'actor'>, id: string): Promise<BatchAction> {
    const action = await this.#deps.store.actions.get(actor ? null : caller.orgId, id);
    if (!action) throw notFound('action');
    return action;
  }

  /** Stops an action; batches that it has changed stay changed. */
  async cancel(by: Pick<ActionCaller, 'caller' | 'actor'>, id: string): Promise<BatchAction> {
    await this.get(by, id);
    await this.#deps.store.actions.end(id, 'cancelled', this.#deps.time.now());
    return this.get(by, id);
  }

  async #batchesOf(
    { orgId }: ActionCaller,
    { ids, filter }: ActionRequest,
    signal: AbortSignal,
  ): Promise<{ batches: Batch[]; missing: number }> {
    const { store, matching } = this.#deps;
    if (ids) {
      const found: Batch[] = [];
      for (const group of groupsOf(ids, perRead)) found.push(...(await store.batches.findMany(group)));
      const batches = found.filter((batch) => orgId === undefined || batch.orgId === orgId);
      return { batches, missing: ids.length - batches.length };
    }
    const batches: Batch[] = [];
    for await (const page of matching(orgId, filter ?? {}, signal)) {
      batches.push(...page);
      if (batches.length > maxBatches)
        throw new ApiError(
          'validation_error',
          `filter: matches more than ${maxBatches} batches. Narrow it, for example by created_before.`,
          { param: 'filter' },
        );
    }
    return { batches, missing: 0 };
  }

  #wake(): void {
    this.#isWanted = true;
    if (this.#stopped || this.#running) return;
    this.#timer?.cancel();
    this.#running = this.#runAll()
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'an action on batches waits for the database'),
      )
      .finally(() => {
        this.#running = null;
        if (!this.#stopped) this.#timer = this.#deps.clock.after(pollMs, () => this.#wake());
      });
  }

  async #runAll(): Promise<void> {
    const { store, worker, clock, time } = this.#deps;
    if (clock.monotonic() >= this.#removeAt) {
      await store.actions.removeEnded(time.now() - keepMs);
      this.#removeAt = clock.monotonic() + removeEveryMs;
    }
    while (!this.#stopped) {
      this.#isWanted = false;
      const claimed = await store.actions.claim(worker, time.now(), time.now() + leaseMs);
      if (claimed) await this.#run(claimed.action, claimed.ids);
      else if (!this.#isWanted) return;
    }
  }

  async #run(action: BatchAction, ids: readonly string[]): Promise<void> {
    const { store, worker, time, log } = this.#deps;
    const { position, done, failed, skipped, failures } = action;
    let progress: ActionProgress = { position, done, failed, skipped, failures };
    while (progress.position < ids.length) {
      if (this.#stopped || !(await this.#hasActiveKey(action))) break;
      progress = await this.#actOnNext(action, ids[progress.position]!, progress);
      if (!(await store.actions.advance(worker, action.id, progress, time.now() + leaseMs))) return;
    }
    if (progress.position < ids.length) return;
    await store.actions.end(action.id, 'completed', time.now());
    log.info(
      { action: action.id, kind: action.options.kind, ...progress, failures: undefined },
      'an action on batches ended',
    );
  }

  /** Returns false and ends an action whose key was revoked or disabled, or has expired. */
  async #hasActiveKey({ id, keyId }: BatchAction): Promise<boolean> {
    const { store, time, log } = this.#deps;
    const key = await store.keys.get(keyId);
    if (key && isActive(key, time.now())) return true;
    log.warn({ action: id, key: keyId }, 'an action on batches ends: its key is not active any more');
    await store.actions.end(id, 'cancelled', time.now());
    return false;
  }

  async #actOnNext(action: BatchAction, batchId: string, before: ActionProgress): Promise<ActionProgress> {
    const next = { ...before, position: before.position + 1 };
    const outcome = await this.#deps.act(action, batchId);
    if (outcome === 'done' || outcome === 'skipped') return { ...next, [outcome]: before[outcome] + 1 };
    const failures = [...before.failures, { batchId, code: outcome.code, message: outcome.message }];
    return { ...next, failed: before.failed + 1, failures: failures.slice(0, maxFailures) };
  }
}
