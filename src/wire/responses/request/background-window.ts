import { hourMs } from '../../../base/clock.ts';
import { invalid } from '../../../core/errors.ts';
import { quoted } from '../../json/parse.ts';
import type { BackgroundWindow, ResponsesRequest } from '../responses.ts';

/** Lengths of the windows, in milliseconds. */
const windows: Record<BackgroundWindow, number | undefined> = {
  soonest: undefined,
  '2h': 2 * hourMs,
  '8h': 8 * hourMs,
};

export const backgroundWindows = Object.keys(windows);

/**
 * Time that a background response has at the batch price, in milliseconds; undefined for one that runs at its tier. Batch lines
 * accept any window, which has no effect there.
 * @throws ApiError `validation_error` for a window without `background`
 */
export function backgroundWindowMs({
  background,
  background_options: options,
}: ResponsesRequest): number | undefined {
  const window = options?.completion_window ?? 'soonest';
  const ms = windows[window];
  if (ms !== undefined && background !== true)
    throw invalid('background_options.completion_window', `${quoted(window)} needs background: true`);
  return ms;
}
