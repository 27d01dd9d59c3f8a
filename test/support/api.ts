import type { Line } from './batch-lines.ts';
import { jsonl } from './batch-lines.ts';
import { until } from './until.ts';

/** Batch as sent over HTTP, with the fields that tests read. */
export interface BatchBody {
  id: string;
  status: string;
  endpoint: string;
  completion_window: string;
  input_file_id: string;
  output_file_id: string | null;
  error_file_id: string | null;
  request_counts: { total: number; completed: number; failed: number };
  waiting?: { reason: string } | null;
  usage: {
    input_tokens: number;
    input_tokens_details: { cached_tokens: number };
    output_tokens: number;
    total_tokens: number;
  };
  cost: { currency: string; amount: string; list_amount: string };
  error_summary: { code: string; count: number; example: string }[];
  errors: { data: { code: string; message: string }[] } | null;
  progress: { pending: number; running: number };
  expires_at: string;
  metadata: unknown;
}

export interface FileBody {
  id: string;
  bytes: number;
  filename: string;
  purpose: string;
  status: string;
}

export interface ListBody<T> {
  data: T[];
  has_more: boolean;
}

/** Body of every error (api.md, section 2). */
export interface ErrorBody {
  error: {
    type: string;
    code: string;
    message: string;
    param: string | null;
    details: {
      errors: { line?: number; custom_id?: string; param?: string; code: string; message: string }[];
    };
  };
  request_id: string;
}

export interface ApiResponse {
  status: number;
  headers: Headers;
  text: string;
}

export interface CallOptions {
  method?: string;
  json?: unknown;
  body?: NonNullable<RequestInit['body']>;
  headers?: Record<string, string>;
}

/** Client of a server with one key, as a user's script has it. */
export interface Api {
  /** Returns any response, errors included. */
  send(path: string, sending?: CallOptions): Promise<ApiResponse>;
  /** Returns the body of a 2xx response; throws with its text otherwise. */
  get<T>(path: string): Promise<T>;
  post<T>(path: string, json: unknown): Promise<T>;
  /** Uploads a file and returns any response. */
  sendFile(content: string | Buffer, fields?: Record<string, string>): Promise<ApiResponse>;
  upload(content: string | Buffer | Line[]): Promise<FileBody>;
  createBatch(input: string | { requests: Line[] }, more?: Record<string, unknown>): Promise<BatchBody>;
  batch(id: string): Promise<BatchBody>;
  /** Returns the JSONL of one stream after line `after`. */
  results(id: string, stream: 'output' | 'errors', after?: number): Promise<ApiResponse>;
  /** Waits until the batch has a final status. */
  finished(id: string): Promise<BatchBody>;
}

const finalStates = new Set(['completed', 'failed', 'cancelled', 'expired']);

export function isFinished(batch: BatchBody): boolean {
  return finalStates.has(batch.status);
}

export function createApi(url: string, key: string): Api {
  async function send(path: string, sending: CallOptions = {}): Promise<ApiResponse> {
    const { json, body, headers } = sending;
    const method = sending.method ?? (json === undefined && body === undefined ? 'GET' : 'POST');
    const content = json === undefined ? body : JSON.stringify(json);
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(content !== undefined && { body: content }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  async function succeed<T>(path: string, sending?: CallOptions): Promise<T> {
    const { status, text } = await send(path, sending);
    if (status >= 300) throw new Error(`${path} answered ${status}: ${text.slice(0, 2000)}`);
    return JSON.parse(text) as T;
  }

  const sendFile: Api['sendFile'] = (content, fields = {}) => {
    const form = new FormData();
    form.set('purpose', 'batch');
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    const bytes = typeof content === 'string' ? content : new Uint8Array(content);
    form.set('file', new Blob([bytes]), 'input.jsonl');
    return send('/v1/files', { body: form });
  };

  return {
    send,
    sendFile,
    get: (path) => succeed(path),
    post: (path, json) => succeed(path, { json }),

    async upload(content) {
      const { status, text } = await sendFile(Array.isArray(content) ? jsonl(content) : content);
      if (status !== 201) throw new Error(`the upload was answered ${status}: ${text.slice(0, 2000)}`);
      return JSON.parse(text) as FileBody;
    },

    createBatch(input, more = {}) {
      const source = typeof input === 'string' ? { input_file_id: input } : input;
      return succeed('/v1/batches', {
        json: { endpoint: '/v1/chat/completions', completion_window: '24h', ...source, ...more },
      });
    },

    batch: (id) => succeed(`/v1/batches/${id}`),
    results: (id, stream, after = 0) =>
      send(`/v1/batches/${id}/${stream}${after > 0 ? `?after=${after}` : ''}`),

    finished: (id) =>
      until(`batch ${id} ends`, async () => {
        const batch = await succeed<BatchBody>(`/v1/batches/${id}`);
        return isFinished(batch) && batch;
      }),
  };
}
