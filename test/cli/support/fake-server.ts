import { checkCreateBatch } from '../../../src/wire/batch/create.ts';
import type { RemoteBatch, RemoteFile, ResultLine } from '../../../src/client/resources.ts';
import type { Fetch } from '../../../src/client/transport.ts';
import type { BatchStatus } from '../../../src/core/batch.ts';

/** Behavior of the fake server; tests change it between steps. */
export interface Behavior {
  /** Returns the result of a line. */
  answer: (customId: string) => ResultLine;
  /** Final status, and the number of polls until a batch reaches it. */
  end: BatchStatus;
  /** Final status of each batch in order of creation, in place of `end`. */
  ends: BatchStatus[];
  polls: number;
  /** Called for every request: returns a response to send instead, or throws a network error. */
  before: (method: string, path: string) => Response | undefined;
  /** Number of result downloads to break off in the middle of a line. */
  cuts: number;
}

export interface FakeServer {
  fetch: Fetch;
  url: string;
  behavior: Behavior;
  files: Map<string, { file: RemoteFile; text: string }>;
  batches: Map<string, { batch: RemoteBatch; polls: number; lines: ResultLine[] }>;
  requests: { method: string; path: string; url: URL; headers: Headers }[];
}

export function succeeded(customId: string): ResultLine {
  const body = { choices: [{ message: { content: `answer to ${customId}` } }] };
  return { id: `req_${customId}`, custom_id: customId, response: { status_code: 200, body }, error: null };
}

export function failed(customId: string): ResultLine {
  const error = { code: 'context_length_exceeded', message: 'too long' };
  return { id: `req_${customId}`, custom_id: customId, response: null, error };
}

/** Fake of the parts of Offpeak that the CLI uses, behind `fetch`: no sockets, no delays. */
export function createFakeServer(): FakeServer {
  const url = 'http://offpeak.test';
  const behavior: Behavior = {
    answer: succeeded,
    end: 'completed',
    ends: [],
    polls: 2,
    before: () => undefined,
    cuts: 0,
  };
  const files: FakeServer['files'] = new Map();
  const batches: FakeServer['batches'] = new Map();
  const requests: FakeServer['requests'] = [];
  const replays = new Map<string, object>();

  async function handle(request: Request): Promise<Response> {
    const address = new URL(request.url);
    const { pathname, searchParams } = address;
    const { method } = request;
    requests.push({ method, path: pathname, url: address, headers: request.headers });
    const early = behavior.before(method, pathname);
    if (early !== undefined) return early;
    const [, , noun, id = '', what] = pathname.split('/');
    const key = request.headers.get('idempotency-key');
    if (method === 'POST' && id === '') {
      const seen = key === null ? undefined : replays.get(key);
      const made = seen ?? (noun === 'files' ? await upload(request) : create(await request.json()));
      if (key !== null) replays.set(key, made);
      return json(made, 201);
    }
    if (noun === 'files') return readFile(id, what);
    return readBatch({ id, what, after: Number(searchParams.get('after') ?? 0) });
  }

  async function upload(request: Request): Promise<RemoteFile> {
    const form = await request.formData();
    const part = form.get('file');
    if (!(part instanceof File)) throw new Error('no file');
    const text = await part.text();
    const file: RemoteFile = {
      id: `file-${files.size + 1}`,
      object: 'file',
      bytes: text.length,
      created_at: 1_800_000_000,
      filename: part.name,
      purpose: form.get('purpose') as RemoteFile['purpose'],
      status: 'processed',
    };
    files.set(file.id, { file, text });
    return file;
  }

  function create(input: unknown): RemoteBatch {
    const [fault] = checkCreateBatch(input);
    if (fault) throw new Error(`The CLI sends a body that servers refuse: ${fault.param}: ${fault.message}`);
    const { endpoint, input_file_id, metadata, priority, completion_window } = input as Record<
      string,
      string
    >;
    const text = files.get(input_file_id ?? '')?.text ?? '';
    const ids = text
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
    // Lines finish out of order.
    const lines = ids.toReversed().map((customId) => behavior.answer(customId));
    const batch = {
      id: `batch_${batches.size + 1}`,
      object: 'batch',
      endpoint,
      status: 'validating',
      input_file_id,
      created_at: '2026-11-21T09:30:00Z',
      expires_at: '2026-11-22T09:30:00Z',
      completion_window,
      request_counts: { total: ids.length, completed: 0, failed: 0 },
      priority: priority ?? 5,
      metadata: metadata ?? {},
      cost: { currency: 'USD', amount: '0.0005', list_amount: '0.001' },
    } as unknown as RemoteBatch;
    batches.set(batch.id, { batch, polls: 0, lines });
    return batch;
  }

  function readFile(id: string, what: string | undefined): Response {
    const found = files.get(id);
    if (id === '') return json(page([...files.values()].map(({ file }) => file)));
    if (found === undefined) return refusal(404, 'not_found', 'No such file.');
    return what === 'content' ? new Response(found.text) : json(found.file);
  }

  function readBatch({ id, what, after }: { id: string; what: string | undefined; after: number }): Response {
    if (id === '') return json(page([...batches.values()].map(({ batch }) => batch)));
    const found = batches.get(id);
    if (found === undefined) return refusal(404, 'not_found', 'No such batch.');
    if (what === 'output' || what === 'errors') return results(found, what, after);
    if (what === 'cancel') found.batch.status = 'cancelled';
    else advance(found);
    return json(found.batch);
  }

  function advance(found: { batch: RemoteBatch; polls: number; lines: ResultLine[] }): void {
    found.polls++;
    const done = found.polls >= behavior.polls;
    if (found.batch.status === 'cancelled') return;
    const end = behavior.ends[[...batches.values()].indexOf(found)] ?? behavior.end;
    found.batch.status = done ? end : 'in_progress';
    if (!done) return;
    const good = found.lines.filter((line) => line.error === null).length;
    Object.assign(found.batch.request_counts, { completed: good, failed: found.lines.length - good });
  }

  function results(
    found: { batch: RemoteBatch; lines: ResultLine[] },
    stream: 'output' | 'errors',
    after: number,
  ) {
    const lines = found.lines.filter((line) => (line.error === null) === (stream === 'output')).slice(after);
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const headers = { 'x-batch-status': found.batch.status, 'x-last-line': String(after + lines.length) };
    if (text === '' || behavior.cuts === 0) return new Response(text, { headers });
    behavior.cuts--;
    return new Response(text.slice(0, -10), { headers });
  }

  const fetch: Fetch = (input, init) => handle(new Request(input, init));
  return { fetch, url, behavior, files, batches, requests };
}

/** Returns an error as the server sends it (api.md, section 2). */
export function refusal(status: number, code: string, message: string, errors: object[] = []): Response {
  const error = {
    type: 'invalid_request_error',
    code,
    message,
    param: null,
    details: { error_code: code, errors },
  };
  return json({ type: 'error', error, message, request_id: 'req_1' }, status, { 'x-request-id': 'req_1' });
}

function json(value: object, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(value, { status, headers });
}

function page(data: { id: string }[]): object {
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: false,
  };
}
