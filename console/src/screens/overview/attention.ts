import { batchName } from '../../parts/batch-name.ts';
import { percent } from '../../parts/format.ts';
import type { StateKind } from '../../parts/state.tsx';
import type { Replica, Webhook } from '../../api/operations.ts';
import type { OpenBatch } from './queries.ts';

/** Something that a person should look at. */
export interface Concern {
  id: string;
  kind: StateKind;
  /** The state in a word or two. */
  word: string;
  /** Batch, server or webhook. */
  subject: string;
  /** Absent for servers and webhooks. */
  batch?: OpenBatch;
  why: string;
  org: string | null;
  /** Deadline of a batch. */
  due: string | number | null;
}

/** Waits that are part of the normal course, or that a person chose. */
const normalWaits = new Set(['queued', 'hours', 'paused']);
/** Share of failed lines from which a batch counts as failing. */
const failingShare = 0.05;

/** Returns what needs attention, the most urgent first: risks, waits, failures, servers, webhooks. */
export function collectConcerns(
  batches: readonly OpenBatch[],
  replicas: readonly Replica[],
  webhooks: readonly Webhook[],
): Concern[] {
  const isLate = (batch: OpenBatch) => batch.at_risk;
  const isWaiting = (batch: OpenBatch) => batch.waiting !== null && !normalWaits.has(batch.waiting.reason);
  return [
    ...batches.filter(isLate).map(late),
    ...batches.filter((batch) => !isLate(batch) && isWaiting(batch)).map(waits),
    ...batches.filter((batch) => !isLate(batch) && !isWaiting(batch) && isFailing(batch)).map(failing),
    ...replicas.filter(({ health }) => health === 'open' || health === 'half-open').map(unavailable),
    ...webhooks.filter(({ disabled_reason: reason }) => Boolean(reason)).map(disabled),
  ];
}

function isFailing({ request_counts: { completed, failed } }: OpenBatch): boolean {
  return failed > 0 && failed / (completed + failed) >= failingShare;
}

function late(batch: OpenBatch): Concern {
  const why = batch.waiting?.message ?? 'It will miss its window at the present rate.';
  return { ...subjectOf(batch), kind: 'warning', word: 'At risk', why };
}

function waits(batch: OpenBatch): Concern {
  return { ...subjectOf(batch), kind: 'warning', word: 'Waiting', why: batch.waiting?.message ?? '' };
}

function failing(batch: OpenBatch): Concern {
  const { completed, failed } = batch.request_counts;
  const [most] = batch.error_summary.toSorted((a, b) => b.count - a.count);
  const why = `${percent(failed, completed + failed)} of the finished requests failed${most ? `, most with ${most.code}` : ''}.`;
  return { ...subjectOf(batch), kind: 'failed', word: 'Failing', why };
}

function subjectOf(batch: OpenBatch) {
  const { id, org = null, expires_at: due } = batch;
  return { id, subject: batchName(batch) ?? id, batch, org, due };
}

function unavailable({ id, server, model, waiting }: Replica): Concern {
  const why = waiting?.message ?? `A server of ${model} takes no requests.`;
  return { id, kind: 'failed', word: 'Server down', subject: server, why, org: null, due: null };
}

function disabled({ id, name, url, disabled_reason: reason }: Webhook): Concern {
  const why = reason ?? 'It gets no events.';
  return { id, kind: 'stopped', word: 'Webhook disabled', subject: name ?? url, why, org: null, due: null };
}
