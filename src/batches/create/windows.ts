import { isoSeconds } from '../../base/clock.ts';
import { sum } from '../../base/sum.ts';
import type { Batch } from '../../core/batch.ts';
import {
  type BatchWindow,
  type BatchWindows,
  defaultWindow,
  usualWindowMs,
  windowName,
  windowOfLength,
} from '../../core/batch-window.ts';
import { type ApiError, invalid } from '../../core/errors.ts';
import type { Caller } from '../../core/org.ts';
import { dueAt } from '../../core/urgency.ts';
import type { InputIndex } from '../../files/input-index.ts';
import type { Forecast } from '../../wire/batch/present.ts';
import { forecast, type ForecastDeps } from './forecast.ts';

/** Advantage of small batches: `due` is this many milliseconds per estimated token after creation, at most half the window. */
const msPerToken = 1;
/** Results of lines in flight at the end of the window are accepted for this long. */
const drainGraceMs = 2_000;

/** Queue position and window end of a batch that is created at `now`. */
export function placeIn(
  windowMs: number,
  now: number,
  { est, priority }: Pick<Batch, 'est' | 'priority'>,
): Pick<Batch, 'due' | 'acceptUntil' | 'expiresAt'> {
  const expiresAt = now + windowMs;
  return {
    due: dueAt(now + Math.min(est * msPerToken, windowMs / 2), priority),
    acceptUntil: expiresAt + drainGraceMs,
    expiresAt,
  };
}

/** Forecast of a new batch in one of the offered windows. */
export interface WindowForecast {
  window: BatchWindow;
  forecast: Forecast;
}

/** Forecasts of a batch that is created at `now`, in the order of the windows. */
export async function forecastWindows(
  deps: ForecastDeps,
  caller: Caller,
  windows: BatchWindows,
  { index, priority, now }: { index: InputIndex; priority: number; now: number },
): Promise<WindowForecast[]> {
  const places = windows.map(({ ms }) => placeIn(ms, now, { est: sum(index.est), priority }));
  const forecasts = await forecast(deps, caller, index, places);
  return windows.map((window, at) => ({ window, forecast: forecasts[at]! }));
}

/** True for a window shorter than `24h` that a request names: it is refused if the batch would miss it. */
export function isRefusable(window: BatchWindow | undefined): window is BatchWindow {
  return window !== undefined && window.ms < usualWindowMs;
}

/** Error for a batch that would miss the named window; undefined if it would meet it, or nothing was measured yet. */
export function windowRefusal(
  window: BatchWindow | undefined,
  forecasts: readonly WindowForecast[],
): ApiError | undefined {
  if (!isRefusable(window)) return undefined;
  const missed = forecasts.find((each) => each.window === window)?.forecast;
  if (!missed?.atRisk) return undefined;
  const { earliest } = missed;
  const end = earliest === null ? 'at an unknown time' : `at ${isoSeconds(earliest)} at the earliest`;
  const others = forecasts.filter((each) => !each.forecast.atRisk).map((each) => windowName(each.window.ms));
  const advice =
    others.length === 0 ? 'No window can be met now' : `Windows that can be met: ${others.join(', ')}`;
  return invalid(
    'completion_window',
    `the batch would miss the window of ${windowName(window.ms)}: it would be done ${end}. ${advice}.`,
    'window_too_short',
  );
}

/** Window of a retry: the one that its request names, or that of the old batch if it is still offered and not the default. */
export function retriedWindow(
  windows: BatchWindows,
  named: BatchWindow | null | undefined,
  { windowMs }: Pick<Batch, 'windowMs'>,
): BatchWindow | undefined {
  if (named !== undefined) return named ?? undefined;
  const former = windowOfLength(windows, windowMs);
  return former === defaultWindow(windows) ? undefined : former;
}
