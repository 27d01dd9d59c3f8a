import type { Agent, Dispatcher } from 'undici';
import { networkReason } from '../../../base/network-reason.ts';
import { isTrusted } from '../../../core/model-source.ts';
import { TransientFault, ModelFileError } from './faults.ts';
import type { Range } from './ranges.ts';

export interface Hub {
  /** Base URL of `hf:` files, without a slash at the end. */
  endpoint: string;
  token: string | null;
}

type Headers = Dispatcher.ResponseData['headers'];
type Body = Dispatcher.ResponseData['body'];

export interface HttpResponse {
  status: number;
  headers: Headers;
  /** @throws TransientFault */
  body: AsyncIterable<Buffer>;
  /** Discards the body. */
  discard(): void;
  /** Checksum and size that the hub reported before it redirected to the storage. */
  linked: { sha256: string | null; size: number | null };
}

export type HttpClient = ReturnType<typeof createHttpClient>;

const connectMs = 15_000;
/** Limit for the headers, and between two pieces of a body. */
const idleMs = 60_000;
const maxRedirects = 10;

/** GET requests that follow redirects. The token of the hub goes to the hub alone. */
export function createHttpClient(hub: Hub) {
  let dispatcher: Agent | undefined;
  const hubOrigin = new URL(hub.endpoint).origin;

  async function ask(url: URL, range: Range | undefined, signal: AbortSignal) {
    const headers: Record<string, string> = { 'accept-encoding': 'identity', 'user-agent': 'offpeak' };
    if (range !== undefined) headers.range = `bytes=${range.start}-${range.end - 1}`;
    if (hub.token !== null && url.origin === hubOrigin) headers.authorization = `Bearer ${hub.token}`;
    // Loaded late: most starts fetch nothing.
    const { Agent, request } = await import('undici');
    dispatcher ??= new Agent({
      connect: { timeout: connectMs },
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
      allowH2: false,
    });
    try {
      return await request(url, { dispatcher, headers, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw networkFault(error, url);
    }
  }

  return {
    /** @throws TransientFault if a retry may help @throws ModelFileError if not */
    async open(
      first: string,
      { range, signal }: { range?: Range; signal: AbortSignal },
    ): Promise<HttpResponse> {
      const begin = new URL(first);
      const linked: HttpResponse['linked'] = { sha256: null, size: null };
      let url = begin;
      for (let hops = 0; hops <= maxRedirects; hops++) {
        const { statusCode: status, headers, body } = await ask(url, range, signal);
        if (url.origin === hubOrigin) readLinked(headers, linked);
        const isRedirect = status >= 301 && status <= 308 && status !== 304 && headers.location !== undefined;
        if (!isRedirect && [200, 206, 416].includes(status)) {
          const discard = (): void => void body.on('error', () => {}).destroy();
          return { status, headers, body: piecesOf(body, url, signal), discard, linked };
        }
        body.on('error', () => {});
        await body.dump({ limit: 16_384 }).catch(() => {});
        if (!isRedirect) throw refusal(status, headers, url);
        url = redirected(url, String(headers.location), begin);
      }
      throw new ModelFileError(`${begin.host} redirects more than ${maxRedirects} times.`);
    },
    close: async () => dispatcher?.destroy(),
  };
}

function readLinked(headers: Headers, linked: HttpResponse['linked']): void {
  const size = Number(headers['x-linked-size'] ?? Number.NaN);
  linked.sha256 ??= sha256Of(headers['x-linked-etag']) ?? sha256Of(headers.etag);
  if (Number.isSafeInteger(size)) linked.size ??= size;
}

/** Checksum in an entity tag, as the hub sends it for large files. */
function sha256Of(tag: string | string[] | undefined): string | null {
  return /^(?:W\/)?"?([0-9a-f]{64})"?$/.exec(String(tag ?? ''))?.[1] ?? null;
}

function redirected(from: URL, location: string, begin: URL): URL {
  if (!URL.canParse(location, from.href))
    throw new ModelFileError(`${from.host} redirects to an invalid URL.`);
  const next = new URL(location, from);
  if (next.protocol === 'https:' || (begin.protocol === 'http:' && isTrusted(next))) return next;
  throw new ModelFileError(
    `${from.host} redirects to ${next.protocol}//${next.host}, which is not encrypted.`,
  );
}

async function* piecesOf(body: Body, url: URL, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const piece of body) yield piece as Buffer;
  } catch (error) {
    signal.throwIfAborted();
    throw networkFault(error, url);
  }
}

/** Error for a status other than success. */
function refusal(status: number, headers: Headers, url: URL): Error {
  const answer = `${url.host} answered ${status}`;
  if (status === 408 || status === 429 || status >= 500)
    return new TransientFault(answer, { retryAfterMs: retryAfter(headers['retry-after']) });
  if (status === 401 || status === 403)
    return new ModelFileError(
      `${answer}: this file needs permission.`,
      'For a private or gated repository set OFFPEAK_HF_TOKEN to a token that may read it.',
    );
  if (status === 404 || status === 410) return new ModelFileError(`${answer}: there is no ${url.pathname}.`);
  return new ModelFileError(`${answer} instead of a file.`);
}

function retryAfter(value: string | string[] | undefined): number | undefined {
  const seconds = Number(value ?? Number.NaN);
  return seconds >= 0 ? seconds * 1000 : undefined;
}

function networkFault(error: unknown, url: URL): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/CERT|TLS|SELF_SIGNED|UNABLE_TO/.test(code))
    return new ModelFileError(`The TLS certificate of ${url.host} cannot be trusted (${code}).`, undefined, {
      cause: error,
    });
  return new TransientFault(networkReason(error, url.host), { cause: error });
}
