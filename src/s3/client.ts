import { hash } from 'node:crypto';
import aws4 from 'aws4';
import { Pool } from 'undici';
import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { networkReason } from '../base/network-reason.ts';
import type { Random } from '../base/random.ts';
import { createSteadyLookup } from '../base/steady-lookup.ts';
import { BlobError } from '../core/blob-error.ts';
import type { BucketConfig } from '../core/config.ts';
import {
  isBusy,
  isKeyRefused,
  isPage,
  isTransient,
  notS3,
  type Refusal,
  type S3Problem,
  explainRefusal,
} from './problems.ts';
import type { IssuedKeys } from './key-sources.ts';
import { createKeys } from './keys.ts';
import { findText } from './xml.ts';

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Key below the prefix; without it the request is for the bucket. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** SHA-256 of the body in hexadecimal; calculated if absent. */
  bodyHash?: string;
  /** Error codes to return instead of throwing; the status, such as `404`, where the answer has no body. */
  accept?: readonly string[];
  /** Milliseconds for the response headers, without retries; by default `S3Timeouts` apply, with retries. */
  timeoutMs?: number;
}

export interface S3Answer {
  status: number;
  headers: Refusal['headers'];
  body: Buffer;
  /** One of `accept`. */
  code?: string;
}

/** Sends signed requests to one bucket and retries transient failures. */
export interface S3Client {
  /** @throws the error that `toError` makes of the problem, or BlobError if the keys cannot be read */
  send(request: S3Request): Promise<S3Answer>;
  /** Removes an object; does nothing if it is missing. */
  remove(key: string): Promise<void>;
  /** Waits for the back-off of an attempt, or until the client is closed. */
  pause(attempt: number): Promise<void>;
  /** Milliseconds by which the clock of the store is ahead of that of this machine; 0 below a minute. */
  aheadMs(): number;
  readonly bucket: string;
  toError(problem: S3Problem): Error;
  /** Key in the bucket, with the prefix. */
  objectName(key: string): string;
  /** Reopens a closed client. */
  open(): void;
  close(): Promise<void>;
}

export interface S3Timeouts {
  connectMs: number;
  /** Limit for the response headers. */
  headersMs: number;
  /** Limit for the response headers of a write, which includes its upload. */
  writeHeadersMs: number;
  /** Limit between two chunks of a response body. */
  idleMs: number;
  /** No retry begins after this time. */
  totalMs: number;
}

export interface S3ClientOptions {
  bucket: BucketConfig;
  clock: Clock;
  random: Random;
  /** Makes the error of a failed request. */
  toError: (problem: S3Problem) => Error;
  log: Log;
  timeouts?: S3Timeouts;
}

const defaultTimeouts: S3Timeouts = {
  connectMs: 5_000,
  headersMs: 15_000,
  writeHeadersMs: 60_000,
  idleMs: 15_000,
  totalMs: 60_000,
};
/** Attempts of a request, which end after about five seconds. A store that asks for a pause is retried until `totalMs`. */
const maxAttempts = 6;
/** Clocks that differ by less are not corrected. */
const minDifferenceMs = 60_000;
const pauses = { initialMs: 200, maxMs: 5_000 };
const maxConnections = 64;
const emptyBodyHash = hash('sha256', '');

const clocksDiffer =
  'The clock of this machine differs from that of the object store, whose time is used for its requests. Synchronize it with NTP.';

interface Failure {
  fault: Error;
  retry: boolean;
  /** True if the store asks for a pause. */
  isBusy?: boolean;
}

export function createS3Client({
  bucket: config,
  clock,
  random,
  toError,
  log,
  timeouts = defaultTimeouts,
}: S3ClientOptions): S3Client {
  const { bucket, prefix, region } = config;
  const endpoint = new URL(config.endpoint);
  if (!config.pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  const { host } = endpoint;
  const root = `${endpoint.pathname.replace(/\/$/, '')}${config.pathStyle ? `/${bucket}` : ''}`;
  const nameOf = (key: string) => `${prefix}${key}`;
  const lookup = createSteadyLookup(clock);
  let closing = new AbortController();
  let pool: Pool | undefined;
  let aheadMs = 0;
  const now = () => clock.now() + aheadMs;
  const keys = createKeys({ keys: config.keys, now, log });

  /** Compares the clocks. Returns true if the difference is a new one. */
  function compareClocks({ date }: Refusal['headers']): boolean {
    const found = Date.parse(String(date)) - clock.now();
    if (Number.isNaN(found)) return false;
    const next = Math.abs(found) < minDifferenceMs ? 0 : found;
    if (Math.abs(next - aheadMs) < minDifferenceMs) return false;
    aheadMs = next;
    if (next !== 0) log.warn({ host, ahead_seconds: Math.round(next / 1_000) }, clocksDiffer);
    return true;
  }

  /** Signs a request with the SHA-256 of its body, so that the store rejects a corrupted body. */
  function sign({ method, key, query = {}, headers, body, bodyHash }: S3Request, used: IssuedKeys) {
    const search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    const name = key === undefined ? '' : encodePath(nameOf(key));
    const path = `${root}/${name}${search && `?${search}`}`;
    const date = new Date(now()).toISOString().replaceAll(/[:-]|\.\d+/g, '');
    const sum = bodyHash ?? (body ? hash('sha256', body) : emptyBodyHash);
    const sums = { 'x-amz-date': date, 'x-amz-content-sha256': sum };
    const request = { service: 's3', region, host, method, path, headers: { ...headers, ...sums } };
    return aws4.sign(request, used) as { path: string; headers: Record<string, string> };
  }

  async function exchange(
    request: S3Request,
    used: IssuedKeys,
    signal: AbortSignal,
  ): Promise<S3Answer | Refusal> {
    signal.throwIfAborted();
    pool ??= new Pool(endpoint.origin, {
      connections: maxConnections,
      allowH2: false,
      connect: { timeout: timeouts.connectMs, lookup },
      bodyTimeout: timeouts.idleMs,
    });
    const { method, body = null } = request;
    const defaultMs = method === 'PUT' || method === 'POST' ? timeouts.writeHeadersMs : timeouts.headersMs;
    const headersTimeout = request.timeoutMs ?? defaultMs;
    const response = await pool.request({ ...sign(request, used), method, body, headersTimeout, signal });
    const { statusCode: status, headers } = response;
    const bytes = Buffer.from(await response.body.arrayBuffer());
    const answer = { status, headers, body: bytes };
    const isObject = status < 300 && request.key !== undefined;
    if (!isObject && isPage(answer)) return { status, code: notS3, headers, xml: '' };
    // A store can fail after it has sent status 200.
    const isLateError = status < 300 && method !== 'GET' && bytes.includes('<Error>');
    if (status < 300 && !isLateError) return answer;
    const xml = bytes.toString();
    const code = findText(xml, 'Code') ?? '';
    if (request.accept?.includes(code || String(status))) return { ...answer, code };
    return { status: isLateError ? 500 : status, code, headers, xml };
  }

  async function attempt(request: S3Request, signal: AbortSignal): Promise<S3Answer | Failure> {
    try {
      const used = await keys.current();
      const answer = await exchange(request, used, signal);
      const isNewTime = compareClocks(answer.headers);
      if ('body' in answer) return answer;
      const access = { host, bucket, region, accessKey: used.accessKeyId };
      const isRefused = [400, 403].includes(answer.status);
      // Some stores have no code of their own for a wrong time.
      const isLate = isNewTime && isRefused;
      // The answer to HEAD has no code.
      const isUnexplained = request.method === 'HEAD' && isRefused;
      const isKeyOld = (isKeyRefused(answer) || isUnexplained) && keys.replace(used);
      const retry = isTransient(answer) || isLate || isKeyOld;
      return { fault: toError(explainRefusal(answer, access)), retry, isBusy: isBusy(answer) };
    } catch (cause) {
      if (cause instanceof BlobError) return { fault: cause, retry: !signal.aborted };
      const reason = signal.aborted ? 'this process is stopping' : networkReason(cause, endpoint.host);
      const message = `The object store cannot be reached: ${reason}.`;
      return { fault: toError({ kind: 'unreachable', message, cause }), retry: !signal.aborted };
    }
  }

  const pause = (tries: number) => sleep(clock, backoffMs(tries, pauses, random.float()), closing.signal);

  const send: S3Client['send'] = async (request) => {
    const startedAt = clock.monotonic();
    const { signal } = closing;
    for (let tries = 1; ; tries++) {
      const answer = await attempt(request, signal);
      if (!('fault' in answer)) return answer;
      const isLast =
        request.timeoutMs !== undefined ||
        (tries >= maxAttempts && answer.isBusy !== true) ||
        clock.monotonic() - startedAt >= timeouts.totalMs;
      if (!answer.retry || isLast) throw answer.fault;
      await pause(tries);
    }
  };

  return {
    send,
    // Some stores reject the removal of a missing object.
    remove: async (key) => void (await send({ method: 'DELETE', key, accept: ['NoSuchKey'] })),
    pause,
    toError,
    aheadMs: () => aheadMs,
    bucket,
    objectName: nameOf,
    open() {
      if (closing.signal.aborted) closing = new AbortController();
    },
    async close() {
      closing.abort();
      const closed = pool;
      pool = undefined;
      await closed?.destroy();
    },
  };
}

/** Percent-encodes an object name for a URL, in the form that is signed. */
function encodePath(name: string): string {
  return encodeURIComponent(name)
    .replaceAll('%2F', '/')
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
