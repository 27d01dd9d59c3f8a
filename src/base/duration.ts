const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses `250ms`, `25s`, `10m`, `24h` or `30d` to milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim());
  if (!match) return undefined;
  return Math.round(Number(match[1]) * units[match[2] as keyof typeof units]);
}

/** Inverse of `parseDuration`, in whole units: `24h`, `90m`, `2s`. */
export function formatExactDuration(ms: number): string {
  const unit = (['h', 'm', 's'] as const).find((name) => ms % units[name] === 0) ?? 'ms';
  return `${ms / units[unit]}${unit}`;
}

/** Formats a duration for display: `4s`, `2m 05s`, `3h 20m`, `2d 4h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ${two(Math.floor((seconds % 3600) / 60))}m`;
  return `${Math.floor(seconds / 86_400)}d ${Math.floor((seconds % 86_400) / 3600)}h`;
}

function two(n: number): string {
  return String(n).padStart(2, '0');
}
