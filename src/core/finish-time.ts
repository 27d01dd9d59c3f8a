import { sum } from '../base/sum.ts';
import type { BatchWork } from './work-left.ts';

/** Work of a new batch for one model. */
export interface AddedWork {
  orgId: string;
  weight: number;
  /** Place in the queue of its org (core/urgency.ts). */
  due: number;
  tokens: number;
}

/**
 * Tokens of other work that are completed before the new work is done. Work of the same org that is due before it goes first. The other
 * orgs get their shares by weight meanwhile, or less where they have less.
 * @param open work of the model
 */
export function tokensAhead(
  open: readonly BatchWork[],
  added: AddedWork,
  weightOf: (orgId: string) => number,
): number {
  const before = sum(
    open.filter(({ orgId, due }) => orgId === added.orgId && due <= added.due).map(tokensOf),
  );
  const own = before + added.tokens;
  const others = Map.groupBy(
    open.filter(({ orgId }) => orgId !== added.orgId),
    ({ orgId }) => orgId,
  );
  const shared = [...others].map(([orgId, work]) =>
    Math.min(sum(work.map(tokensOf)), (own * weightOf(orgId)) / added.weight),
  );
  return before + sum(shared);
}

const tokensOf = ({ tokens }: BatchWork) => tokens;
