import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';

/** Events of one source that are logged one by one in each minute. */
const maxLines = 20;
const minuteMs = 60_000;
/** Sources that are counted one by one; further ones are counted together. */
const maxSources = 1_000;

export interface LogSumsDeps<Source> {
  clock: Clock;
  log: Log;
  level: 'info' | 'warn';
  message: string;
  /** Field of the counts by kind. */
  counted: string;
  /** Source of the events that are counted together. */
  others: Source;
}

/** Keeps frequent events of one source from filling the log: above 20 per minute, they are logged as one sum per minute. */
export function createLogSums<Source extends object>(deps: LogSumsDeps<Source>) {
  const { clock, log, level, message, counted, others } = deps;
  let sources = new Map<string, { source: Source; lines: number; counts: Record<string, number> }>();
  let timer: Timer | undefined;

  function flush(): void {
    timer?.cancel();
    timer = undefined;
    const past = sources;
    sources = new Map();
    for (const { source, counts } of past.values()) {
      const requests = Object.values(counts).reduce((sum, count) => sum + count, 0);
      if (requests > 0) log[level]({ ...source, requests, [counted]: counts }, message);
    }
  }

  return {
    /** Counts an event. Returns true if it should be logged by itself. @param kind entry of the sum */
    count(source: Source, kind: string | number): boolean {
      const own = Object.values(source).join(' ');
      const isCounted = sources.has(own) || sources.size < maxSources;
      const name = isCounted ? own : Object.values(others).join(' ');
      let seen = sources.get(name);
      if (!seen) sources.set(name, (seen = { source: isCounted ? source : others, lines: 0, counts: {} }));
      timer ??= clock.after(minuteMs, flush);
      if (seen.lines++ < maxLines) return true;
      seen.counts[kind] = (seen.counts[kind] ?? 0) + 1;
      return false;
    },
    /** Logs the sums so far. */
    flush,
  };
}
