import { isFinal, type ResultStream } from '../core/batch.ts';
import { ClientError } from './errors.ts';
import type { LimitsBody } from '../wire/admin/limits.ts';
import type { ShownUsage } from '../wire/usage/report.ts';
import type { ChatChunk, ChatRequest, ChatResponse } from '../wire/chat/chat.ts';
import type {
  AuditPage,
  LinePage,
  OperatorBatch,
  Page,
  PageQuery,
  RemoteBatch,
  RemoteDeletion,
  RemoteBudget,
  RemoteDelivery,
  RemoteAction,
  RemoteActionPreview,
  RemoteEstimate,
  RemoteFile,
  RemoteHistory,
  RemoteKey,
  RemoteRotation,
  RemoteLimits,
  RemoteLineDetail,
  RemoteModel,
  RemoteOrg,
  RemotePauses,
  RemoteProcess,
  RemoteQueue,
  RemoteReplica,
  RemoteRequest,
  RemoteSecretsKey,
  RemoteWebhook,
} from './resources.ts';
import { type Call, type TransportOptions, createTransport, readBytes, streamEvents } from './transport.ts';
import { encodeUpload } from './upload-form.ts';

export interface NewFile {
  /** Uploaded as a stream, so a Blob of a file is never read into memory as a whole. */
  content: Blob;
  filename: string;
  expiresAfterSeconds?: number | undefined;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface NewBatch {
  endpoint: string;
  inputFileId: string;
  /** Completion window; 24h if absent. */
  window?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  priority?: number | undefined;
  strictFields?: boolean | undefined;
  idempotencyKey?: string | undefined;
}

export interface RetryFields {
  /** Error codes of the requests; all if absent. */
  codes?: readonly string[] | undefined;
  /** Completion window; that of the old batch if absent. */
  window?: string | undefined;
}

export interface OrgFields {
  name?: string | undefined;
  /** Null removes the budget. */
  budget?: RemoteBudget | null | undefined;
  limits?: LimitsBody | undefined;
  weight?: number | undefined;
  disabled?: boolean | undefined;
}

export interface KeyFields {
  name?: string | undefined;
  scopes?: string[] | undefined;
  /** Null allows all models. */
  models?: string[] | null | undefined;
  /** Null for a key that does not expire. */
  expires_at?: string | null | undefined;
  limits?: LimitsBody | undefined;
  /** Null for none. */
  budget?: RemoteBudget | null | undefined;
  priority?: number | undefined;
}

/** Action on many batches, given by ids or by filters of their list. */
export interface ActionBody {
  action: string;
  ids?: readonly string[] | undefined;
  filter?: Record<string, string | boolean | undefined> | undefined;
  codes?: readonly string[] | undefined;
  priority?: number | undefined;
}

/** Filters and page of a list of lines. */
export interface LineFilters {
  state?: string | undefined;
  code?: string | undefined;
  custom_id?: string | undefined;
  q?: string | undefined;
  sample?: number | undefined;
  seed?: number | undefined;
  limit?: number | undefined;
  after?: number | undefined;
}

/** Scope of a pause: a model, an org, both, or everything. */
export interface PauseFields {
  model?: string | undefined;
  org?: string | undefined;
  everything?: true;
}

export interface WebhookFields {
  url?: string | undefined;
  name?: string | undefined;
  event_types?: string[] | undefined;
  enabled?: boolean | undefined;
}

export type Client = ReturnType<typeof createClient>;

/** Client of an Offpeak server. Every call rejects with `ClientError` or `Unreachable`. */
export function createClient(options: TransportOptions) {
  const transport = createTransport(options);
  const { baseUrl } = transport;
  const get = <T>(path: string, query: Call['query'] = {}) => transport.json<T>({ path, query });
  const post = <T>(path: string, json?: object) => transport.json<T>({ method: 'POST', path, json });
  const patch = <T>(path: string, json: object) => transport.json<T>({ method: 'PATCH', path, json });
  const remove = <T = RemoteDeletion>(path: string) => transport.json<T>({ method: 'DELETE', path });
  const chatPath = apiPath('chat', 'completions');

  const actionsAt = (...path: string[]) => ({
    preview: (body: ActionBody) =>
      post<RemoteActionPreview>(apiPath(...path, 'actions'), { ...body, dry_run: true }),
    create: (body: ActionBody) => post<RemoteAction>(apiPath(...path, 'actions'), body),
    get: (id: string) => get<RemoteAction>(apiPath(...path, 'actions', id)),
    cancel: (id: string) => post<RemoteAction>(apiPath(...path, 'actions', id, 'cancel')),
  });

  return {
    baseUrl,
    models: { list: () => get<Page<RemoteModel>>(apiPath('models')) },
    chat: (request: ChatRequest) => post<ChatResponse>(chatPath, request),
    chatStream(request: ChatRequest, signal: AbortSignal) {
      const json = { ...request, stream: true, stream_options: { include_usage: true } };
      return streamEvents<ChatChunk>(transport, { method: 'POST', path: chatPath, json, signal }, 'answer');
    },

    files: {
      async upload({ content, filename, expiresAfterSeconds, ...call }: NewFile) {
        const expiry = {
          'expires_after[anchor]': 'created_at',
          'expires_after[seconds]': String(expiresAfterSeconds),
        };
        const fields = { purpose: 'batch', ...(expiresAfterSeconds !== undefined && expiry) };
        const form = await encodeUpload(fields, content, filename);
        return transport.json<RemoteFile>({ method: 'POST', path: apiPath('files'), form, ...call });
      },
      get: (id: string) => get<RemoteFile>(apiPath('files', id)),
      list: (query: PageQuery & { purpose?: string | undefined }) =>
        get<Page<RemoteFile>>(apiPath('files'), { ...query }),
      /** Bytes of a file from `from` on. `start` is smaller if the server sends the whole file; `size` is null if unknown. */
      async content(id: string, from = 0) {
        const path = apiPath('files', id, 'content');
        const response = await transport.send({ path, ...(from > 0 && { range: `bytes=${from}-` }) });
        const [, start, size] =
          /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? [];
        const whole = size ?? response.headers.get('content-length');
        return {
          start: start === undefined ? 0 : Number(start),
          size: whole === null ? null : Number(whole),
          bytes: readBytes(response, baseUrl),
        };
      },
      remove: (id: string) => remove(apiPath('files', id)),
    },

    batches: {
      /** Actions on many batches. */
      actions: actionsAt('batches'),
      create({
        endpoint,
        inputFileId,
        window = '24h',
        metadata,
        priority,
        strictFields,
        idempotencyKey,
      }: NewBatch) {
        const json = {
          endpoint,
          completion_window: window,
          input_file_id: inputFileId,
          metadata,
          priority,
          strict_fields: strictFields,
        };
        const path = apiPath('batches');
        return transport.json<RemoteBatch>({ method: 'POST', path, json, idempotencyKey });
      },
      /** Estimates a batch of these requests, which are the items of a JSON array. */
      dryRun(endpoint: string, requests: Uint8Array, window = '24h') {
        const frame = JSON.stringify({ endpoint, completion_window: window, dry_run: true });
        const jsonBytes = joinBytes(`${frame.slice(0, -1)},"requests":[`, requests, ']}');
        return transport.json<RemoteEstimate>({ method: 'POST', path: apiPath('batches'), jsonBytes });
      },
      get: (id: string) => get<RemoteBatch>(apiPath('batches', id)),
      list: (query: PageQuery & Call['query']) => get<Page<RemoteBatch>>(apiPath('batches'), { ...query }),
      act: (id: string, what: 'cancel' | 'pause' | 'resume') =>
        post<RemoteBatch>(apiPath('batches', id, what)),
      retry: (id: string, fields: RetryFields = {}) =>
        post<RemoteBatch>(apiPath('batches', id, 'retry'), retryBody(fields)),
      retryDryRun: (id: string, fields: RetryFields = {}) =>
        post<RemoteEstimate>(apiPath('batches', id, 'retry'), { ...retryBody(fields), dry_run: true }),
      lines: (id: string, query: LineFilters) => get<LinePage>(apiPath('batches', id, 'lines'), { ...query }),
      line: (id: string, line: string) => get<RemoteLineDetail>(apiPath('batches', id, 'lines', line)),
      /** Current state of a batch, then every change until it ends. */
      async *events(id: string) {
        const call = { path: apiPath('batches', id, 'events') };
        for await (const batch of streamEvents<RemoteBatch>(transport, call, 'batch')) {
          yield batch;
          if (isFinal(batch.status)) return;
        }
      },
      /** Batches of the org after each change, and those that are deleted, until the signal aborts. */
      async *allEvents(signal: AbortSignal) {
        type Event = RemoteBatch | (RemoteDeletion & { object: 'batch' });
        const call = { path: apiPath('batches', 'events'), signal };
        for await (const event of streamEvents<Event | { object: 'batch.stream' }>(transport, call, 'list'))
          if (event.object !== 'batch.stream') yield event as Event;
      },
      history: (id: string) => get<RemoteHistory>(apiPath('batches', id, 'history')),
      /** Result lines so far, without the first `after` ones. */
      async results(id: string, stream: ResultStream, after: number) {
        const query = { after: after === 0 ? undefined : after };
        const response = await transport.send({ path: apiPath('batches', id, stream), query });
        const { headers } = response;
        return {
          /** True while more lines can follow. */
          incomplete: headers.get('x-incomplete') === 'true',
          /** Value of `after` for the next call. */
          lastLine: Number(headers.get('x-last-line') ?? after),
          bytes: readBytes(response, baseUrl),
        };
      },
    },

    webhooks: {
      create: (fields: WebhookFields) => post<RemoteWebhook>(apiPath('webhooks'), fields),
      list: (query: PageQuery) => get<Page<RemoteWebhook>>(apiPath('webhooks'), { ...query }),
      update: (id: string, fields: WebhookFields) => patch<RemoteWebhook>(apiPath('webhooks', id), fields),
      remove: (id: string) => remove(apiPath('webhooks', id)),
      rotate: (id: string) => post<RemoteWebhook>(apiPath('webhooks', id, 'rotate')),
      test: (id: string) => post<RemoteDelivery>(apiPath('webhooks', id, 'test')),
      deliveries: (id: string, query: PageQuery) =>
        get<Page<RemoteDelivery>>(apiPath('webhooks', id, 'deliveries'), { ...query }),
      replay: (deliveryId: string) =>
        post<RemoteDelivery>(apiPath('webhooks', 'deliveries', deliveryId, 'replay')),
    },

    usage: (query: Call['query']) => get<ShownUsage>(apiPath('usage'), query),
    limits: () => get<RemoteLimits>(apiPath('limits')),

    /** Requires the scope `admin`, as `keys` does. */
    orgs: {
      create: (fields: OrgFields & { name: string }) => post<RemoteOrg>(apiPath('admin', 'orgs'), fields),
      list: (query: PageQuery = {}) => get<Page<RemoteOrg>>(apiPath('admin', 'orgs'), { ...query }),
      get: (id: string) => get<RemoteOrg>(apiPath('admin', 'orgs', id)),
      limits: (id: string) => get<RemoteLimits>(apiPath('admin', 'orgs', id, 'limits')),
      update: (id: string, fields: OrgFields) => patch<RemoteOrg>(apiPath('admin', 'orgs', id), fields),
    },
    audit: {
      list: (query: Call['query']) => get<AuditPage>(apiPath('admin', 'audit'), query),
    },
    admin: {
      batches: {
        actions: actionsAt('admin', 'batches'),
        list: (query: PageQuery & Call['query']) =>
          get<Page<OperatorBatch>>(apiPath('admin', 'batches'), { ...query }),
        get: (id: string) => get<OperatorBatch>(apiPath('admin', 'batches', id)),
        act: (id: string, what: 'cancel' | 'pause' | 'resume') =>
          post<OperatorBatch>(apiPath('admin', 'batches', id, what)),
        retry: (id: string, fields: RetryFields = {}) =>
          post<OperatorBatch>(apiPath('admin', 'batches', id, 'retry'), retryBody(fields)),
        retryDryRun: (id: string, fields: RetryFields = {}) =>
          post<RemoteEstimate>(apiPath('admin', 'batches', id, 'retry'), {
            ...retryBody(fields),
            dry_run: true,
          }),
        lines: (id: string, query: LineFilters) =>
          get<LinePage>(apiPath('admin', 'batches', id, 'lines'), { ...query }),
        line: (id: string, line: string) =>
          get<RemoteLineDetail>(apiPath('admin', 'batches', id, 'lines', line)),
        update: (id: string, fields: { priority: number }) =>
          patch<OperatorBatch>(apiPath('admin', 'batches', id), fields),
      },
      processes: () => get<Page<RemoteProcess>>(apiPath('admin', 'processes')),
      queue: () => get<Page<RemoteQueue>>(apiPath('admin', 'queue')),
      pauses: () => get<RemotePauses>(apiPath('admin', 'pause')),
      pause: (scope: PauseFields) => post<RemotePauses>(apiPath('admin', 'pause'), scope),
      resume: (scope: PauseFields) => post<RemotePauses>(apiPath('admin', 'resume'), scope),
      replicas: {
        list: () => get<Page<RemoteReplica>>(apiPath('admin', 'replicas')),
        act: (id: string, what: 'drain' | 'undrain' | 'uncap') =>
          post<RemoteReplica>(apiPath('admin', 'replicas', id, what)),
        cap: (id: string, fields: { max_in_flight: number }) =>
          post<RemoteReplica>(apiPath('admin', 'replicas', id, 'cap'), fields),
      },
      requests: (query: PageQuery & Call['query']) =>
        get<Page<RemoteRequest>>(apiPath('admin', 'requests'), { ...query }),
    },
    keys: {
      create: (fields: KeyFields & { org_id: string }) => post<RemoteKey>(apiPath('admin', 'keys'), fields),
      list: (query: PageQuery & { org_id?: string | undefined }) =>
        get<Page<RemoteKey>>(apiPath('admin', 'keys'), { ...query }),
      get: (id: string) => get<RemoteKey>(apiPath('admin', 'keys', id)),
      limits: (id: string) => get<RemoteLimits>(apiPath('admin', 'keys', id, 'limits')),
      update: (id: string, fields: KeyFields & { disabled?: boolean | undefined }) =>
        patch<RemoteKey>(apiPath('admin', 'keys', id), fields),
      rotate: (id: string, overlap: number) =>
        post<RemoteRotation>(apiPath('admin', 'keys', id, 'rotate'), { overlap }),
      revoke: (id: string) => remove<RemoteKey>(apiPath('admin', 'keys', id)),
    },
    secrets: {
      list: () => get<Page<RemoteSecretsKey>>(apiPath('admin', 'secrets')),
      rotate: () => post<Page<RemoteSecretsKey>>(apiPath('admin', 'secrets', 'rotate')),
    },
  };
}

function retryBody({ codes, window }: RetryFields) {
  return { codes, completion_window: window };
}

/** @throws ClientError `not_found` for a name that would lead to another path */
function apiPath(...names: string[]): string {
  const wrong = names.find((name) => /^\.{0,2}$/.test(name));
  if (wrong !== undefined) {
    const error = { code: 'not_found' };
    throw new ClientError(`'${wrong}' is not an id or a name.`, { status: 404, requestId: null, error });
  }
  return `/v1/${names.map(encodeURIComponent).join('/')}`;
}

function joinBytes(head: string, middle: Uint8Array, tail: string): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const [first, last] = [encoder.encode(head), encoder.encode(tail)];
  const bytes = new Uint8Array(first.length + middle.length + last.length);
  bytes.set(first);
  bytes.set(middle, first.length);
  bytes.set(last, first.length + middle.length);
  return bytes;
}
