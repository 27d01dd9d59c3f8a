import type { BatchHistory } from '../../api/batches.ts';
import { toMs } from '../../parts/format.ts';

/** Curves of a batch: instants in Unix seconds, and the rates of the time before each. */
export interface Rates {
  at: number[];
  donePerMinute: number[];
  failedPerMinute: number[];
  tokensPerSecond: number[];
}

/** Rates between the points of a history. The first is that of the time after it, so that the curves begin at the first request. */
export function ratesOf(points: BatchHistory['points']): Rates {
  const rates: Rates = { at: [], donePerMinute: [], failedPerMinute: [], tokensPerSecond: [] };
  for (let n = 1; n < points.length; n++) {
    const [before, point] = [points[n - 1]!, points[n]!];
    const seconds = (toMs(point.at) - toMs(before.at)) / 1_000;
    if (seconds <= 0) continue;
    const perSecond = (later: number, earlier: number) => Math.max(0, later - earlier) / seconds;
    const tokens = ({ input_tokens: input, output_tokens: output }: typeof point) => input + output;
    if (rates.at.length === 0) add(toMs(before.at) / 1_000);
    add(toMs(point.at) / 1_000);

    function add(at: number): void {
      rates.at.push(at);
      rates.donePerMinute.push(60 * perSecond(point.completed, before.completed));
      rates.failedPerMinute.push(60 * perSecond(point.failed, before.failed));
      rates.tokensPerSecond.push(perSecond(tokens(point), tokens(before)));
    }
  }
  return rates;
}

/** The curves between two instants in Unix seconds, both inclusive. */
export function partOf(rates: Rates, from: number, to: number): Rates {
  const isInside = (_: number, index: number) => rates.at[index]! >= from && rates.at[index]! <= to;
  return {
    at: rates.at.filter(isInside),
    donePerMinute: rates.donePerMinute.filter(isInside),
    failedPerMinute: rates.failedPerMinute.filter(isInside),
    tokensPerSecond: rates.tokensPerSecond.filter(isInside),
  };
}

/** Average of one of the curves over the whole time. */
export function averageOf({ at }: Rates, values: readonly number[]): number {
  const length = (at.at(-1) ?? 0) - (at[0] ?? 0);
  if (length <= 0) return values.at(-1) ?? 0;
  let sum = 0;
  for (let n = 1; n < at.length; n++) sum += values[n]! * (at[n]! - at[n - 1]!);
  return sum / length;
}
