import { formatExactDuration } from '../base/duration.ts';

/** Completion window that the configuration offers for batches. */
export interface BatchWindow {
  /** Time from the creation of a batch to its expiry, in milliseconds. */
  ms: number;
  priceFactor: number;
}

/** Offered windows, shortest first. */
export type BatchWindows = readonly [BatchWindow, ...BatchWindow[]];

/** Length of `24h`, which every client can send, and most can send nothing else. */
export const usualWindowMs = 86_400_000;

/**
 * Window that `24h` means, and that a batch has without a choice: that of 24 hours, or else the shortest longer one, or else the
 * longest.
 */
export function defaultWindow(windows: BatchWindows): BatchWindow {
  return windows.find(({ ms }) => ms >= usualWindowMs) ?? windows.at(-1)!;
}

const dayMs = 86_400_000;

/** Name of a window in answers: `90m`, `24h`, `48h` or `7d`. */
export function windowName(ms: number): string {
  return ms % dayMs === 0 && ms >= 3 * dayMs ? `${ms / dayMs}d` : formatExactDuration(ms);
}

/** Offered window of this length. */
export function windowOfLength(windows: BatchWindows, ms: number | null): BatchWindow | undefined {
  return windows.find((window) => window.ms === ms);
}
