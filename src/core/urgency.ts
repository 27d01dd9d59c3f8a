import { priorities } from './limits.ts';

/**
 * Order of the batches of an org, folded into one number, `due`: by priority, then by an instant. Each priority has a range of its
 * own, so that an index on `due` alone gives the order. The range of the default priority starts at zero.
 */

/** Length of a range: more than any instant in milliseconds. */
const range = 1e14;
/** Batches of the last quarter of their window come before every priority. */
const late = priorities.max + 1;
/** Length of that quarter, relative to the window. */
const lateShare = 1 / 4;

/** `due` of a batch whose instant is `at`, in epoch milliseconds. */
export function dueAt(at: number, priority: number): number {
  return at + (priorities.default - priority) * range;
}

/** `due` of the same batch at another priority. A late batch stays ahead of all priorities. */
export function withPriority(due: number, priority: number): number {
  const current = priorityOf(due);
  return current === late ? due : due + (current - priority) * range;
}

/** `due` of a batch that comes before every priority. */
export function asLate(due: number): number {
  return withPriority(due, late);
}

/** Order of two batches of any orgs: a priority counts within its org only. */
export function compareUrgency(a: Pick<Urgent, 'orgId' | 'due'>, b: Pick<Urgent, 'orgId' | 'due'>): number {
  return a.orgId === b.orgId ? a.due - b.due : instantOf(a.due) - instantOf(b.due);
}

/** Instant of a `due`, without its priority. */
export function instantOf(due: number): number {
  return due - Math.floor(due / range) * range;
}

function priorityOf(due: number): number {
  return priorities.default - Math.floor(due / range);
}

interface Urgent {
  id: string;
  orgId: string;
  due: number;
  createdAt: number;
  expiresAt: number;
}

/**
 * Ids of the late batches that others of their org precede by priority alone. They have to go first now: a priority orders the
 * batches of an org, and must not let one of them miss its window unnoticed.
 * @param open all unfinished batches
 */
export function lateBehindPriorities(open: readonly Urgent[], now: number): string[] {
  const highest = new Map<string, number>();
  for (const { orgId, due } of open)
    if (priorityOf(due) !== late) highest.set(orgId, Math.max(highest.get(orgId) ?? 0, priorityOf(due)));
  return open
    .filter(({ orgId, due, createdAt, expiresAt }) => {
      const isLate = now >= expiresAt - (expiresAt - createdAt) * lateShare;
      return isLate && priorityOf(due) < (highest.get(orgId) ?? 0);
    })
    .map(({ id }) => id);
}
