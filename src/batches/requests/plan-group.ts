import type { Batch, Chunk } from '../../core/batch.ts';
import { type BatchWindows, defaultWindow } from '../../core/batch-window.ts';
import type { Caller } from '../../core/org.ts';
import { lineRequestId } from '../../core/request-group.ts';
import { IndexBuilder } from '../../files/index-builder.ts';
import { tagOf } from '../../core/usage-tag.ts';
import type { GroupedRequest } from '../../store/contract/requests.ts';
import { lineFormats, type LinePrompt } from '../../wire/batch/line-formats.ts';
import type { CreateDeps } from '../batch-context.ts';
import { batchOf, priorityFor } from '../create/new-batch.ts';
import { planChunks } from '../create/plan.ts';
import type { DurableRequest } from './durable-requests.ts';

/** Request with what its place in a chunk depends on. */
export interface PreparedRequest extends DurableRequest {
  /** Name of the model in the body. */
  model: string;
  /** Tag of the usage. */
  tag: string;
  /** Null for direct requests, such as embeddings. */
  prompt: LinePrompt | null;
}

/**
 * @param tagName metadata member whose value is the tag
 * @throws ApiError for a body that cannot run as a line
 */
export function prepareRequest(request: DurableRequest, tagName: string): PreparedRequest {
  const { value } = request.body;
  const prompt = lineFormats[request.endpoint].prompt(value);
  return { ...request, model: String(value['model']), tag: tagOf(request.metadata, tagName), prompt };
}

export interface PlannedGroup {
  group: Batch;
  chunks: Chunk[];
  requests: GroupedRequest[];
}

/** Time beyond that of a request in which official SDKs, which give up after 10 minutes, repeat it twice. */
const retriesMs = 30 * 60_000;

/** Smallest chunk of a group: a row for every few requests would cost more than they do. */
const chunkSize = 16;

const encoder = new TextEncoder();

/**
 * Plans a group of requests that agree in everything but their bodies.
 * @throws ApiError for a model that the caller may not use
 */
export function planGroup(
  deps: Pick<CreateDeps, 'catalog' | 'ids' | 'clock' | 'billingClock'> & { batch: { windows: BatchWindows } },
  caller: Caller,
  prepared: readonly PreparedRequest[],
): PlannedGroup {
  const { catalog, ids, batch: settings } = deps;
  const { endpoint, tier, tag, timeoutMs, model } = prepared[0]!;
  const id = ids.next('group_');
  const index = new IndexBuilder();
  const requests = prepared.map(({ body, prompt, creation, response }, line): GroupedRequest => {
    const requestId = lineRequestId({ batchId: id, line });
    const head = {
      custom_id: requestId,
      method: 'POST',
      url: endpoint,
      ...(response && { response: { begun: response.begun, input: response.input } }),
    };
    const bytes = encoder.encode(`${JSON.stringify(head).slice(0, -1)},"body":${body.text}}`);
    const est = Math.ceil(bytes.length / 4) + (prompt?.output ?? 0);
    index.add({ bytes, offset: 0, length: bytes.length }, { model, prompt, est });
    const ttlMs = Math.max(creation.ttlMs, timeoutMs + retriesMs);
    return {
      line,
      body: bytes,
      creation: { ...creation, ttlMs },
      ...(response?.row && { response: { ...response.row, requestId } }),
    };
  });
  const built = index.build();
  const priceFactor = tier === 'flex' ? defaultWindow(settings.windows).priceFactor : 1;
  const group = batchOf(
    deps,
    caller,
    built,
    { ms: timeoutMs, priceFactor },
    {
      id,
      endpoint,
      priority: priorityFor(caller),
      inputFileId: '',
      inputName: null,
      metadata: null,
      tag,
      warnings: [],
      retryOf: null,
      tier,
      resultTtlMs: 0,
    },
  );
  return { group, chunks: planChunks(id, built, catalog.idOf, chunkSize), requests };
}
