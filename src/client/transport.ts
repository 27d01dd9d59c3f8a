import { createParser } from 'eventsource-parser';
import { ClientError, type RemoteError, toClientError, Unreachable, untrusted } from './errors.ts';
import type { UploadForm } from './upload-form.ts';

export type Fetch = typeof globalThis.fetch;

export interface TransportOptions {
  /** URL of the server, such as `http://127.0.0.1:8080`. A final `/v1` is ignored. */
  baseUrl: string;
  apiKey: string | undefined;
  fetch: Fetch;
}

export interface Call {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string | number | undefined>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is: UTF-8 of JSON. */
  jsonBytes?: Uint8Array<ArrayBuffer>;
  form?: UploadForm;
  /** Value of the `Range` header. */
  range?: string;
  /** A repeated call with the same key returns the resource of the first one. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

export type Transport = ReturnType<typeof createTransport>;

/** HTTP transport. Errors are `ClientError` or `Unreachable`. */
export function createTransport(options: TransportOptions) {
  const baseUrl = options.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');

  async function send(call: Call): Promise<Response> {
    const headers: Record<string, string> = { accept: '*/*' };
    if (options.apiKey !== undefined) headers.authorization = `Bearer ${options.apiKey}`;
    if (call.json !== undefined || call.jsonBytes !== undefined) headers['content-type'] = 'application/json';
    if (call.form !== undefined) headers['content-type'] = call.form.type;
    if (call.range !== undefined) headers.range = call.range;
    if (call.idempotencyKey !== undefined) headers['idempotency-key'] = call.idempotencyKey;
    const body =
      call.form?.body ?? call.jsonBytes ?? (call.json === undefined ? null : JSON.stringify(call.json));
    let response: Response;
    try {
      const init = { method: call.method ?? 'GET', headers, body, signal: call.signal ?? null };
      const once = call.form === undefined ? {} : uploadOptions;
      response = await options.fetch(baseUrl + call.path + toQuery(call), { ...init, ...once });
    } catch (cause) {
      if (call.signal?.aborted === true) throw cause;
      throw new Unreachable(baseUrl, connectionReason(cause), cause);
    }
    if (response.ok) return response;
    throw await toClientError(response);
  }

  return {
    baseUrl,
    send,
    async json<T>(call: Call) {
      const response = await send(call);
      try {
        return (await response.json()) as T;
      } catch (cause) {
        if (call.signal?.aborted === true) throw cause;
        throw new Unreachable(baseUrl, 'its answer is not JSON. Is this an Offpeak server?', cause);
      }
    },
  };
}

/** Options that keep `fetch` from buffering an upload for a redirect or a password prompt. */
const uploadOptions = { redirect: 'error', window: null } as const;

/** Bytes of an answer. A broken connection throws `Unreachable`. */
export async function* readBytes(response: Response, baseUrl: string): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  try {
    yield* response.body;
  } catch (cause) {
    if (cause instanceof Error && cause.name === 'AbortError') throw cause;
    throw new Unreachable(baseUrl, 'the connection broke during the download', cause);
  }
}

/**
 * Data of each server-sent event, until `[DONE]`.
 * @param what the stream is about, for the error message
 * @throws Unreachable when the stream ends without `[DONE]`, ClientError when it contains an error
 */
export async function* streamEvents<T extends object>(
  transport: Transport,
  call: Call,
  what: string,
): AsyncGenerator<T> {
  const response = await transport.send(call);
  const requestId = response.headers.get('x-request-id');
  const ready: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => ready.push(data) });
  const decoder = new TextDecoder();
  for await (const bytes of readBytes(response, transport.baseUrl)) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    for (const data of ready.splice(0)) {
      if (data === '[DONE]') return;
      const event = JSON.parse(data) as T | { error?: RemoteError };
      if ('error' in event && event.error) {
        const { error } = event;
        throw new ClientError(error.message ?? 'The stream failed.', { status: 200, requestId, error });
      }
      yield event as T;
    }
  }
  throw new Unreachable(transport.baseUrl, `the stream ended before the ${what} was complete`);
}

function toQuery(call: Call): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {}))
    if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/** Reason of a network error, which `fetch` puts into the cause of its own. */
function connectionReason(error: unknown): string {
  const inner = error instanceof Error ? (error.cause ?? error) : error;
  if (!(inner instanceof Error)) return String(inner);
  const code = 'code' in inner ? String(inner.code) : '';
  if (code === 'ECONNREFUSED') return 'connection refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown host';
  if (/^(SELF_SIGNED_CERT|DEPTH_ZERO_SELF|UNABLE_TO_(VERIFY|GET_ISSUER))/.test(code)) return untrusted;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'the server does not use HTTPS. Use an http:// URL';
  if (inner.message === 'unexpected redirect')
    return 'it redirects uploads. Use the URL that it redirects to';
  return inner.message || code || 'the connection failed';
}
