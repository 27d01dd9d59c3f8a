import { hash } from 'node:crypto';
import aws4 from 'aws4';
import { Pool } from 'undici';
import { backoffMs } from '../../base/backoff.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { networkReason } from '../../base/network-reason.ts';
import type { Random } from '../../base/random.ts';
import { createSteadyLookup } from '../../base/steady-lookup.ts';
import { BlobError } from '../../core/blob-error.ts';
import type { BucketConfig } from '../../core/config.ts';
import { toFault, isTransient, type Refusal } from './faults.ts';
import { textOf } from './xml.ts';

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Below the prefix; the bucket as a whole if absent. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** Codes that are an answer, too; `404` for one without a body. */
  may?: readonly string[];
  /** Milliseconds until its answer begins; it is then tried once. As `S3Timeouts` has it if absent, and tried again. */
  withinMs?: number;
}

export interface S3Answer {
  status: number;
  headers: Refusal['headers'];
  body: Buffer;
  /** Of a refusal that was asked for by `may`. */
  code?: string;
}

/** Signed requests to one bucket. What passes by itself is tried again. */
export interface S3Client {
  /** @throws BlobError `unavailable`, or ApiError `insufficient_storage` */
  send(request: S3Request): Promise<S3Answer>;
  /** Some stores refuse to remove what is not there. */
  remove(key: string): Promise<void>;
  /** Resolves after a while, or when the client is closed. */
  pause(attempt: number): Promise<void>;
  readonly bucket: string;
  /** The name of a key in the bucket, with the prefix. */
  nameOf(key: string): string;
  /** After `close`: until then everything fails. */
  open(): void;
  close(): Promise<void>;
}

export interface S3Timeouts {
  connectMs: number;
  /** Until the headers of an answer come. */
  headersMs: number;
  /** The same of what stores something: a part may be long on its way. */
  storedMs: number;
  /** Between two pieces of a body. */
  idleMs: number;
  /** No further try is begun after that. */
  totalMs: number;
}

export interface S3ClientOptions {
  bucket: BucketConfig;
  clock: Clock;
  random: Random;
  timeouts?: S3Timeouts;
}

const usualTimeouts: S3Timeouts = {
  connectMs: 5_000,
  headersMs: 15_000,
  storedMs: 60_000,
  idleMs: 15_000,
  totalMs: 60_000,
};
const mostTries = 6;
const pauses = { initialMs: 200, maxMs: 5_000 };
/** At the same time; others wait for one of them to end. */
const connections = 64;
const noBody = hash('sha256', '');

export function createS3Client({
  bucket: config,
  clock,
  random,
  timeouts = usualTimeouts,
}: S3ClientOptions): S3Client {
  const { bucket, prefix, region, accessKey, secretKey, sessionToken } = config;
  const endpoint = new URL(config.endpoint);
  if (!config.pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  const { host } = endpoint;
  const root = `${endpoint.pathname.replace(/\/$/, '')}${config.pathStyle ? `/${bucket}` : ''}`;
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey, sessionToken };
  const nameOf = (key: string) => `${prefix}${key}`;
  const lookup = createSteadyLookup(clock);
  let closing = new AbortController();
  let pool: Pool | undefined;

  /** The SHA-256 of the body is a part of the signature: what arrives is what was sent, or is refused. */
  function signed({ method, key, query = {}, headers, body }: S3Request) {
    const search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    const path = `${root}/${key === undefined ? '' : nameOf(key)}${search && `?${search}`}`;
    const now = new Date(clock.now()).toISOString().replaceAll(/[:-]|\.\d+/g, '');
    const sums = { 'x-amz-date': now, 'x-amz-content-sha256': body ? hash('sha256', body) : noBody };
    const request = { service: 's3', region, host, method, path, headers: { ...headers, ...sums } };
    return aws4.sign(request, credentials) as { path: string; headers: Record<string, string> };
  }

  async function once(request: S3Request, signal: AbortSignal): Promise<S3Answer | Refusal> {
    signal.throwIfAborted();
    pool ??= new Pool(endpoint.origin, {
      connections,
      allowH2: false,
      connect: { timeout: timeouts.connectMs, lookup },
      bodyTimeout: timeouts.idleMs,
    });
    const { method, body = null } = request;
    const usualMs = method === 'PUT' || method === 'POST' ? timeouts.storedMs : timeouts.headersMs;
    const headersTimeout = request.withinMs ?? usualMs;
    const answer = await pool.request({ ...signed(request), method, body, headersTimeout, signal });
    const { statusCode: status, headers } = answer;
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    const found = { status, headers, body: bytes };
    // A store may find out that it failed when it has said 200 already.
    const isLate = status < 300 && method !== 'GET' && bytes.includes('<Error>');
    if (status < 300 && !isLate) return found;
    const xml = bytes.toString();
    const code = textOf(xml, 'Code') ?? '';
    if (request.may?.includes(code || String(status))) return { ...found, code };
    return { status: isLate ? 500 : status, code, headers, xml };
  }

  async function attempt(
    request: S3Request,
    signal: AbortSignal,
  ): Promise<S3Answer | { fault: Error; passing: boolean }> {
    try {
      const answer = await once(request, signal);
      if ('body' in answer) return answer;
      const place = { host, bucket, region, accessKey };
      return { fault: toFault(answer, place), passing: isTransient(answer) };
    } catch (cause) {
      const reason = signal.aborted ? 'this server is stopping' : networkReason(cause, endpoint.host);
      const message = `The stored files cannot be reached: ${reason}.`;
      const hint = 'Look at s3.endpoint, and whether the store runs.';
      return { fault: new BlobError('unavailable', message, hint, { cause }), passing: !signal.aborted };
    }
  }

  const pause = (tried: number) => sleep(clock, backoffMs(tried, pauses, random.float()), closing.signal);

  const send: S3Client['send'] = async (request) => {
    const began = clock.monotonic();
    const { signal } = closing;
    for (let tried = 1; ; tried++) {
      const answer = await attempt(request, signal);
      if (!('fault' in answer)) return answer;
      const isOver =
        request.withinMs !== undefined ||
        tried === mostTries ||
        clock.monotonic() - began >= timeouts.totalMs;
      if (!answer.passing || isOver) throw answer.fault;
      await pause(tried);
    }
  };

  return {
    send,
    remove: async (key) => void (await send({ method: 'DELETE', key, may: ['NoSuchKey'] })),
    pause,
    bucket,
    nameOf,
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
