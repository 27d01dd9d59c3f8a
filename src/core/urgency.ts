import { priorities } from './limits.ts';

/**
 * Order of the batches of an org, folded into one number, `due`: by priority, then by an instant. Each priority has a range of its
 * own, so that an index on `due` alone gives the order. The range of the default priority starts at zero.
 */

/** Length of a range: more than any instant in milliseconds. */
const range = 1e14;
/** Late batches come before every priority: those in the last quarter of their window. */
const late = priorities.max + 1;

/** `due` of a batch whose instant is `at`, in epoch milliseconds. */
export function dueAt(at: number, priority: number): number {
  return at + (priorities.default - priority) * range;
}

/** `due` of the same batch at another priority. A late batch stays ahead of all priorities. */
export function withPriority(due: number, priority: number): number {
  return isLate(due) ? due : due + (priorityOf(due) - priority) * range;
}

/** `due` of a batch that comes before every priority. */
export function asLate(due: number): number {
  return withPriority(due, late);
}

/** Values of `due` below it are late. */
export const lateBefore = dueAt(0, priorities.max);

/** True for a batch that comes before every priority. */
export function isLate(due: number): boolean {
  return due < lateBefore;
}

/** Order of two batches of any orgs: a priority counts within its org only. */
export function compareUrgency(a: Urgent, b: Urgent): number {
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
  orgId: string;
  due: number;
}
