import { sum } from '../base/sum.ts';

/** Lines of one open batch for one model, without a result. */
export interface BatchWork {
  model: string;
  orgId: string;
  requests: number;
  /** Estimated input and output tokens. */
  tokens: number;
  /** Place in the queue of its org (core/urgency.ts). */
  due: number;
  /** Milliseconds that the batch may still run before its window ends; 0 outside the model's hours. */
  msLeft: number;
}

/** Work left for one model, over all processes. */
export interface ModelWork {
  model: string;
  requests: number;
  /** Estimated input and output tokens. */
  tokens: number;
  /** Time to finish the work at the measured rate; null while no rate is known. */
  seconds: number | null;
  /**
   * Least time to spare of any batch: its time left minus the work that is due before or with it. Negative if it will miss its window
   * at the measured rate; null while no rate is known.
   */
  slackSeconds: number | null;
  /** Least rate at which every batch ends in its window, if batches run in the order of their deadlines. */
  neededTokensPerSecond: number;
  /** Shares of the orgs, largest first. */
  orgs: { orgId: string; requests: number; tokens: number }[];
}

/**
 * Sums the work of open batches by model.
 * @param rateOf tokens per second that all processes together complete of a model; null while unknown
 */
export function workByModel(
  work: readonly BatchWork[],
  rateOf: (model: string) => number | null,
): ModelWork[] {
  return [...Map.groupBy(work, ({ model }) => model)].map(([model, all]) => {
    const tokens = sumOf(all, 'tokens');
    const rate = rateOf(model);
    return {
      model,
      requests: sumOf(all, 'requests'),
      tokens,
      seconds: rate === null ? null : tokens / rate,
      slackSeconds: rate === null ? null : leastSlack(all, rate),
      neededTokensPerSecond: neededRate(all),
      orgs: [...Map.groupBy(all, ({ orgId }) => orgId)]
        .map(([orgId, own]) => ({ orgId, requests: sumOf(own, 'requests'), tokens: sumOf(own, 'tokens') }))
        .toSorted((a, b) => b.tokens - a.tokens),
    };
  });
}

/** Batches in the order of their deadlines, each with its tokens and those of the batches before it. */
function inDeadlineOrder(work: readonly BatchWork[]): { msLeft: number; due: number }[] {
  let due = 0;
  return work
    .toSorted((a, b) => a.msLeft - b.msLeft)
    .map(({ msLeft, tokens }) => ({ msLeft, due: (due += tokens) }));
}

/** Seconds to spare of the batch with the least, if batches run in the order of their deadlines. */
function leastSlack(work: readonly BatchWork[], rate: number): number {
  return inDeadlineOrder(work).reduce(
    (least, { msLeft, due }) => Math.min(least, msLeft / 1_000 - due / rate),
    Number.POSITIVE_INFINITY,
  );
}

/** Work with less time left counts as due in a minute: a batch at its end, or one whose window has no more hours of its model. */
const leastMsLeft = 60_000;

/** Tokens per second at which the batches end in their windows, if they run in the order of their deadlines. */
function neededRate(work: readonly BatchWork[]): number {
  return inDeadlineOrder(work).reduce(
    (needed, { msLeft, due }) => Math.max(needed, (due * 1_000) / Math.max(msLeft, leastMsLeft)),
    0,
  );
}

function sumOf(work: readonly BatchWork[], field: 'requests' | 'tokens'): number {
  return sum(work.map((each) => each[field]));
}
