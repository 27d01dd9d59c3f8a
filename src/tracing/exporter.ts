import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep, type Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Service } from '../base/service.ts';
import { type Resource, type Span, toOtlp } from './span.ts';

/** A group is sent at this many spans, or this long after its first one. */
const groupSpans = 512;
const groupMs = 5_000;
/** Spans that wait while the collector is slow or away; later ones are dropped. */
const maxWaiting = 4_096;
const requestMs = 10_000;
const maxTries = 5;
const retryBackoff = { initialMs: 1_000, maxMs: 15_000 };
/** Minimum interval between two warnings. */
const warnMs = 60_000;
/** Time that `stop` gives the last group. */
const stopMs = 5_000;
/** Statuses after which OTLP allows another attempt. */
const retryable = new Set([429, 502, 503, 504]);

const compress = promisify(gzip);

export type Post = (
  headers: Record<string, string>,
  body: Buffer,
  signal: AbortSignal,
) => Promise<{ status: number; retryAfter: string | undefined; text: string }>;

export interface ExporterDeps {
  /** Sends one request to the collector; rejects without an answer. */
  post: Post;
  headers: Record<string, string>;
  resource: Resource;
  version: string;
  clock: Clock;
  random: Pick<Random, 'float'>;
  log: Log;
}

export interface SpanExporter extends Service {
  add(span: Span): void;
}

/** Sends spans to a collector over OTLP/HTTP in groups. A collector that is away costs spans, never requests. */
export function createExporter(deps: ExporterDeps): SpanExporter {
  const { post, headers, resource, version, clock, random, log } = deps;
  let waiting: Span[] = [];
  let timer: Timer | undefined;
  let sending: Promise<void> | undefined;
  const stopped = new AbortController();
  let dropped = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  function drop(spans: number, reason: string): void {
    dropped += spans;
    if (clock.monotonic() - warnedAt < warnMs) return;
    log.warn({ spans: dropped, reason }, 'spans were not accepted by the collector of traces');
    warnedAt = clock.monotonic();
    dropped = 0;
  }

  function flush(): Promise<void> {
    timer?.cancel();
    timer = undefined;
    sending ??= sendAll().finally(() => (sending = undefined));
    return sending;
  }

  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.slice(0, groupSpans);
      await send(group);
      // Spans in flight count as waiting.
      waiting = waiting.slice(group.length);
      if (waiting.length < groupSpans) break;
    }
    schedule();
  }

  function schedule(): void {
    if (waiting.length > 0 && !stopped.signal.aborted) timer ??= clock.after(groupMs, () => void flush());
  }

  async function send(spans: readonly Span[]): Promise<void> {
    const body = await compress(JSON.stringify(toOtlp(spans, resource, version)));
    for (let tries = 1; ; tries++) {
      const failure = await attempt(body, spans.length);
      if (!failure) return;
      if (!failure.isRetried || tries >= maxTries || stopped.signal.aborted)
        return drop(spans.length, failure.reason);
      const wait = backoffMs(tries, retryBackoff, random.float());
      await sleep(clock, Math.max(failure.waitMs, wait), stopped.signal);
    }
  }

  async function attempt(
    body: Buffer,
    spans: number,
  ): Promise<{ reason: string; isRetried: boolean; waitMs: number } | undefined> {
    const late = new AbortController();
    const limit = clock.after(requestMs, () =>
      late.abort(new Error('The collector did not answer in time.')),
    );
    const all = { 'content-type': 'application/json', 'content-encoding': 'gzip', ...headers };
    try {
      const { status, retryAfter, text } = await post(all, body, late.signal);
      const seconds = Number(retryAfter ?? 0);
      const waitMs = seconds > 0 ? Math.min(seconds * 1_000, retryBackoff.maxMs) : 0;
      if (status >= 300)
        return { reason: `The collector answered ${status}.`, isRetried: retryable.has(status), waitMs };
      noteRejected(text, spans);
      return undefined;
    } catch (error) {
      return { reason: error instanceof Error ? error.message : String(error), isRetried: true, waitMs: 0 };
    } finally {
      limit.cancel();
    }
  }

  /** Counts the spans that an accepted request could not store. */
  function noteRejected(text: string, spans: number): void {
    if (!text.includes('partialSuccess')) return;
    try {
      const { partialSuccess } = JSON.parse(text) as {
        partialSuccess?: { rejectedSpans?: string | number; errorMessage?: string } | null;
      };
      const rejected = Math.min(spans, Number(partialSuccess?.rejectedSpans ?? 0));
      if (rejected > 0) drop(rejected, partialSuccess?.errorMessage ?? '');
    } catch {
      // The spans were accepted.
    }
  }

  return {
    add(span) {
      if (waiting.length >= maxWaiting) return drop(1, 'Too many spans wait for the collector.');
      waiting.push(span);
      if (waiting.length >= groupSpans) void flush();
      else schedule();
    },
    start: () => Promise.resolve(),
    async stop() {
      stopped.abort();
      await Promise.race([sending?.then(() => flush()) ?? flush(), sleep(clock, stopMs)]);
    },
  };
}
