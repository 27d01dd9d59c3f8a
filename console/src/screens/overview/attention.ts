import { batchName } from '../../parts/batch-name.ts';
import { percent, toMs } from '../../parts/format.ts';
import type { BatchFilters } from '../../api/batches.ts';
import type { StateKind } from '../../parts/state.tsx';
import type { Replica, Webhook } from '../../api/operations.ts';
import { pageSize, type OpenBatch } from './queries.ts';
import type { LinkProps } from '@tanstack/react-router';

/** Something that a person should look at. */
export interface Concern {
  id: string;
  kind: StateKind;
  /** The state in a word or two. */
  word: string;
  /** Batch, server or webhook; a number of them where many have the same. */
  subject: string;
  /** Absent for servers and webhooks, and for several batches. */
  batch?: OpenBatch;
  why: string;
  /** Screen on which a person does something about it, and what. */
  remedy?: Remedy;
  org: string | null;
  /** Deadline of a batch. */
  due: string | number | null;
}

type Remedy = Pick<LinkProps, 'to' | 'params' | 'search'> & { label: string };

/** Waits that are part of the normal course, or that a person chose. */
const normalWaits = new Set(['queued', 'hours', 'paused']);
/** Share of failed lines from which a batch counts as failing. */
const failingShare = 0.05;
/** Batches with the same concern that are listed each. */
const listed = 3;

/** Returns what needs attention, the most urgent first: risks, servers, waits, failures, webhooks. */
export function collectConcerns(
  batches: readonly OpenBatch[],
  replicas: readonly Replica[],
  webhooks: readonly Webhook[],
): Concern[] {
  const byDue = batches.toSorted((a, b) => toMs(a.expires_at) - toMs(b.expires_at));
  const isLate = (batch: OpenBatch) => batch.at_risk;
  const isWaiting = ({ waiting }: OpenBatch) => waiting !== null && !normalWaits.has(waiting.reason);
  const waiting = byDue.filter((batch) => !isLate(batch) && isWaiting(batch));
  const reasons = Map.groupBy(waiting, (batch) => batch.waiting!.reason);
  const failed = byDue.filter((batch) => !isLate(batch) && !isWaiting(batch) && isFailing(batch));
  return [
    ...fold(byDue.filter(isLate).map(late), { at_risk: true }),
    ...replicas.filter(({ health }) => health === 'open' || health === 'half-open').map(unavailable),
    ...[...reasons].flatMap(([reason, all]) => fold(all.map(waits), { waiting: reason })),
    ...fold(failed.map(failing), { status: 'in_progress' }),
    ...webhooks.filter(({ disabled_reason: reason }) => Boolean(reason)).map(disabled),
  ];
}

/** Batches of one concern: the first ones, and the others in a row that links to the list. */
function fold(concerns: Concern[], filter: BatchFilters): Concern[] {
  if (concerns.length <= listed + 1) return concerns;
  const { id, kind, word, due } = concerns[listed]!;
  const more = `${concerns.length - listed}${concerns.length < pageSize ? '' : '+'} more batches`;
  const remedy = { label: 'Show them', to: '/batches', search: filter } as const;
  return [...concerns.slice(0, listed), { id, kind, word, subject: more, why: '', org: null, due, remedy }];
}

function isFailing({ request_counts: { completed, failed } }: OpenBatch): boolean {
  return failed > 0 && failed / (completed + failed) >= failingShare;
}

function late(batch: OpenBatch): Concern {
  const why = batch.waiting?.message ?? 'It will miss its window at the present rate.';
  return { ...subjectOf(batch), kind: 'warning', word: 'At risk', why };
}

function waits(batch: OpenBatch): Concern {
  const { reason, message } = batch.waiting!;
  const remedy = remedyOf(reason, batch.org_id);
  return { ...subjectOf(batch), kind: 'warning', word: 'Waiting', why: message, ...(remedy && { remedy }) };
}

/** @param orgId absent for those who are no administrators, and cannot do it */
function remedyOf(reason: string, orgId: string | undefined): Remedy | undefined {
  if (orgId === undefined) return undefined;
  if (reason === 'budget') return { label: 'Raise the budget', to: '/keys', search: { org: orgId } };
  if (reason === 'org_disabled') return { label: 'Enable the org', to: '/keys', search: { org: orgId } };
  const ofServers = ['drained', 'engine_unavailable', 'credentials_refused', 'rate_limited', 'model_missing'];
  if (!ofServers.includes(reason)) return undefined;
  return { label: reason === 'drained' ? 'Undrain a server' : 'Show servers', to: '/operations' };
}

function failing(batch: OpenBatch): Concern {
  const { completed, failed } = batch.request_counts;
  const [most] = batch.error_summary.toSorted((a, b) => b.count - a.count);
  const why = `${percent(failed, completed + failed)} of the finished requests failed${most ? `, most with ${most.code}` : ''}.`;
  const params = { batchId: batch.id };
  const remedy = {
    label: 'Show lines',
    to: '/batches/$batchId/lines',
    params,
    search: { state: 'failed' },
  } as const;
  return { ...subjectOf(batch), kind: 'failed', word: 'Failing', why, remedy };
}

function subjectOf(batch: OpenBatch) {
  const { id, org = null, expires_at: due } = batch;
  return { id, subject: batchName(batch) ?? id, batch, org, due };
}

function unavailable({ id, server, model, waiting }: Replica): Concern {
  const why = waiting?.message ?? `A server of ${model} takes no requests.`;
  const remedy = { label: 'Show servers', to: '/operations' } as const;
  return { id, kind: 'failed', word: 'Server down', subject: server, why, org: null, due: null, remedy };
}

function disabled({ id, name, url, disabled_reason: reason }: Webhook): Concern {
  const why = reason ?? 'It gets no events.';
  const remedy = { label: 'Enable the webhook', to: '/operations', search: { tab: 'webhooks' } } as const;
  const subject = name ?? url;
  return { id, kind: 'stopped', word: 'Webhook disabled', subject, why, org: null, due: null, remedy };
}
