import { type BatchStatus, isFinal, type ResultStream } from '../core/batch.ts';
import { ClientError, type RemoteError, Unreachable } from './errors.ts';
import { eventsOf } from './events.ts';
import type { Page, PageQuery, RemoteBatch } from './resources.ts';
import { type Transport, bytesOf } from './transport.ts';

export interface BatchesClient {
  create(input: CreateBatchInput): Promise<RemoteBatch>;
  get(id: string, signal?: AbortSignal): Promise<RemoteBatch>;
  list(query?: PageQuery & { status?: string }): Promise<Page<RemoteBatch>>;
  cancel(id: string): Promise<RemoteBatch>;
  pause(id: string): Promise<RemoteBatch>;
  resume(id: string): Promise<RemoteBatch>;
  /** A new batch of the failed requests of a finished one. */
  retry(id: string): Promise<RemoteBatch>;
  /**
   * The batch as it is, then whenever it has changed, until it is final.
   * @throws Unreachable when the stream stops before, ClientError when an error arrives in it
   */
  events(id: string, signal?: AbortSignal): AsyncIterable<RemoteBatch>;
  /** The result lines behind line `after` that are there now. */
  results(id: string, stream: ResultStream, options?: ResultsQuery): Promise<Results>;
}

export interface CreateBatchInput {
  endpoint: string;
  inputFileId: string;
  metadata?: Record<string, unknown> | undefined;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface ResultsQuery {
  after?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface Results {
  status: BatchStatus | null;
  /** More lines will follow. */
  incomplete: boolean;
  /** Pass it as `after` to go on behind these lines. */
  lastLine: number;
  bytes: AsyncIterable<Uint8Array>;
}

export function createBatchesClient(transport: Transport): BatchesClient {
  return {
    create({ endpoint, inputFileId, metadata, idempotencyKey, signal }) {
      const json = { endpoint, completion_window: '24h', input_file_id: inputFileId, metadata };
      return transport.json({ method: 'POST', path: '/v1/batches', json, idempotencyKey, signal });
    },
    get: (id, signal) => transport.json({ path: pathOf(id), signal }),
    list: ({ limit, after, status, signal } = {}) =>
      transport.json<Page<RemoteBatch>>({ path: '/v1/batches', query: { limit, after, status }, signal }),
    cancel: (id) => transport.json({ method: 'POST', path: `${pathOf(id)}/cancel` }),
    pause: (id) => transport.json({ method: 'POST', path: `${pathOf(id)}/pause` }),
    resume: (id) => transport.json({ method: 'POST', path: `${pathOf(id)}/resume` }),
    retry: (id) => transport.json({ method: 'POST', path: `${pathOf(id)}/retry` }),
    async *events(id, signal) {
      const response = await transport.send({ path: `${pathOf(id)}/events`, signal });
      const requestId = response.headers.get('x-request-id');
      for await (const data of eventsOf(response, transport.baseUrl)) {
        const told = JSON.parse(data) as RemoteBatch | { type: 'error'; error: RemoteError };
        if ('error' in told) {
          const { error } = told;
          throw new ClientError(error.message ?? 'The stream failed.', { status: 200, requestId, error });
        }
        yield told;
        if (isFinal(told.status)) return;
      }
      throw new Unreachable(transport.baseUrl, 'the stream ended before the batch did');
    },
    async results(id, stream, { after = 0, signal } = {}) {
      const query = after === 0 ? {} : { after };
      const response = await transport.send({ path: `${pathOf(id)}/${stream}`, query, signal });
      const { headers } = response;
      return {
        status: headers.get('x-batch-status') as BatchStatus | null,
        incomplete: headers.get('x-incomplete') === 'true',
        lastLine: Number(headers.get('x-last-line') ?? after),
        bytes: bytesOf(response, transport.baseUrl),
      };
    },
  };
}

function pathOf(id: string): string {
  return `/v1/batches/${encodeURIComponent(id)}`;
}
