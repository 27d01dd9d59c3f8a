import { toClientError, Unreachable, untrusted } from './errors.ts';

/** `fetch`, or something that behaves like it. */
export type Fetch = typeof globalThis.fetch;

export interface TransportOptions {
  /** Of the server, without `/v1`: `http://127.0.0.1:8080`. */
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
  form?: FormData;
  /** A repeat with the same key answers with what the first one made (api.md, section 1). */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Speaks HTTP: what goes wrong becomes `ClientError` or `Unreachable`. */
export interface Transport {
  readonly baseUrl: string;
  send(call: Call): Promise<Response>;
  json<T>(call: Call): Promise<T>;
}

export function createTransport(options: TransportOptions): Transport {
  const baseUrl = options.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');

  async function send(call: Call): Promise<Response> {
    const headers: Record<string, string> = { accept: '*/*' };
    if (options.apiKey !== undefined) headers.authorization = `Bearer ${options.apiKey}`;
    if (call.json !== undefined) headers['content-type'] = 'application/json';
    if (call.idempotencyKey !== undefined) headers['idempotency-key'] = call.idempotencyKey;
    const body = call.form ?? (call.json === undefined ? null : JSON.stringify(call.json));
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
        throw new Unreachable(baseUrl, 'its answer is not JSON; is this an Offpeak server?', cause);
      }
    },
  };
}

/** `fetch` keeps a copy of all that it sends, unless it may send it nowhere else and nobody could be asked for a password. */
const uploadOptions = { redirect: 'error', window: null } as const;

/** The bytes of an answer; breaking off is `Unreachable` like everything else that the network does. */
export async function* readBytes(response: Response, baseUrl: string): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  try {
    yield* response.body;
  } catch (cause) {
    if (cause instanceof Error && cause.name === 'AbortError') throw cause;
    throw new Unreachable(baseUrl, 'the connection broke while reading', cause);
  }
}

function toQuery(call: Call): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {}))
    if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/** What the network said. `fetch` hides it one level down. */
function connectionReason(error: unknown): string {
  const inner = error instanceof Error ? (error.cause ?? error) : error;
  if (!(inner instanceof Error)) return String(inner);
  const code = 'code' in inner ? String(inner.code) : '';
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its name is not known';
  if (/^(SELF_SIGNED_CERT|DEPTH_ZERO_SELF|UNABLE_TO_(VERIFY|GET_ISSUER))/.test(code)) return untrusted;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'it does not speak HTTPS; write http://';
  if (inner.message === 'unexpected redirect')
    return 'it redirects uploads; name the address that it redirects to';
  return inner.message || code || 'the connection failed';
}
