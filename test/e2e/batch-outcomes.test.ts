import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BatchBody, ErrorBody, FileBody, ListBody } from '../support/api.ts';
import { isFinished } from '../support/api.ts';
import { startApp, testModel } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine, chatLines, embeddingsLine, endings, jsonl, parseLines } from '../support/batch-lines.ts';
import { until } from '../support/until.ts';

// Outcomes of batches: good and bad lines, cancellation, expiry, reading while they run.

let running: RunningApp;
let api: RunningApp['api'];

beforeAll(async () => {
  const engine = { kind: 'scripted', slots: 16, delayMs: 5 } as const;
  const chatOnly = { ...testModel(engine), id: 'chat-only', aliases: [], serves: ['chat' as const] };
  running = await startApp({ models: [testModel(engine), chatOnly] });
  api = running.api;
});

afterAll(() => running?.stop());

const both = async (id: string) => ({
  output: (await api.results(id, 'output')).text,
  errors: (await api.results(id, 'errors')).text,
});
const content = async (id: string) => (await api.send(`/v1/files/${id}/content`)).text;

describe('a batch with good and bad lines', () => {
  it("writes each to its file, with the engine's message, and bills the good ones", async () => {
    const lines = [
      ...chatLines(30),
      chatLine('bad', '[[fail 400]]'),
      chatLine('late', '[[fail timeout]]'),
      chatLine('recovers', '[[fail 500 1]] after one failure'),
    ];
    const { id } = await api.createBatch((await api.upload(lines)).id, { metadata: { run: 1 } });
    const batch = await api.finished(id);
    expect(batch.status).toBe('completed');
    expect(batch.request_counts).toEqual({ total: 33, completed: 31, failed: 2 });
    const { output, errors } = await both(id);
    expect(endings(output, errors).distinct).toEqual(new Set(lines.map((line) => line.custom_id)));
    const failed = new Map(parseLines(errors).map((line) => [line.custom_id, line]));
    expect(failed.get('bad')).toMatchObject({
      response: { status_code: 400 },
      error: { code: 'request_refused', attempts: 1, retryable: false },
    });
    expect(failed.get('late')).toMatchObject({ response: null, error: { code: 'upstream_timeout' } });
    expect(failed.get('late')!.error!.attempts).toBeGreaterThan(1);
    expect(await content(batch.output_file_id!)).toBe(output);
    expect(await content(batch.error_file_id!)).toBe(errors);

    const usage = parseLines(output).map((line) => line.response!.body.usage);
    const sum = (pick: (each: (typeof usage)[number]) => number) =>
      usage.reduce((total, each) => total + pick(each), 0);
    expect(batch.usage.input_tokens).toBe(sum((each) => each.prompt_tokens));
    expect(batch.usage.output_tokens).toBe(sum((each) => each.completion_tokens));
    expect(Number(batch.cost.amount) * 2).toBeCloseTo(Number(batch.cost.list_amount), 8);
  });

  it('F55: is completed, not failed, when every line fails, and says why', async () => {
    const { id } = await api.createBatch({ requests: chatLines(12, () => '[[fail 409]]') });
    const batch = await api.finished(id);
    expect(batch).toMatchObject({
      status: 'completed',
      request_counts: { total: 12, completed: 0, failed: 12 },
      output_file_id: null,
      cost: { amount: '0' },
    });
    expect(batch.error_summary).toMatchObject([{ code: 'upstream_error', count: 12 }]);
    expect(batch.error_summary[0]!.example).toMatch(/^[A-Z].+\.$/);
    expect((await api.results(id, 'output')).text).toBe('');
    expect(parseLines(await content(batch.error_file_id!))).toHaveLength(12);
  });
});

describe('an invalid batch', () => {
  const refusalOf = async (jsonLines: string) => {
    const { status, text } = await api.sendFile(jsonLines);
    return { status, error: (JSON.parse(text) as ErrorBody).error };
  };

  it('is rejected with the line and the field of each unknown model, and stores nothing', async () => {
    const before = await api.get<ListBody<FileBody>>('/v1/files?limit=10000');
    const { status, error } = await refusalOf(
      jsonl([
        chatLine('a'),
        chatLine('b', 'b', { model: 'gpt-17' }),
        chatLine('c'),
        chatLine('d', 'd', { model: 'x' }),
      ]),
    );
    expect(status).toBe(422);
    expect(error.details.errors).toMatchObject([
      { line: 2, custom_id: 'b', param: 'body.model', code: 'model_not_found' },
      { line: 4, custom_id: 'd', param: 'body.model', code: 'model_not_found' },
    ]);
    expect(await api.get('/v1/files?limit=10000')).toEqual(before);
  });

  it('is rejected if the model does not serve the endpoint', async () => {
    const line = embeddingsLine('e', 'night');
    line.body['model'] = 'chat-only';
    const { status, error } = await refusalOf(jsonl([line]));
    expect([status, error.code]).toEqual([422, 'model_not_found']);
    expect(error.message).toContain('embeddings');
  });

  it('is rejected if file and batch name different endpoints', async () => {
    const file = await api.upload([embeddingsLine('e', 'night')]);
    const { status, text } = await api.send('/v1/batches', {
      json: { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: file.id },
    });
    expect([status, (JSON.parse(text) as ErrorBody).error.code]).toEqual([422, 'url_mismatch']);
  });

  it('is rejected inline with the location of each error, and leaves no file', async () => {
    const before = await api.get<ListBody<FileBody>>('/v1/files?limit=10000');
    const { status, text } = await api.send('/v1/batches', {
      json: {
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
        requests: [chatLine('a'), chatLine('a'), { ...chatLine('c'), method: 'GET' }],
      },
    });
    expect(status).toBe(422);
    const { errors } = (JSON.parse(text) as ErrorBody).error.details;
    expect(errors.map(({ param }) => param)).toEqual(['requests[1].custom_id', 'requests[2].method']);
    expect(await api.get('/v1/files?limit=10000')).toEqual(before);
  });
});

describe('a batch of embeddings', () => {
  it('returns a vector for every input', async () => {
    const lines = [embeddingsLine('one', 'night'), embeddingsLine('many', ['a', 'b', 'c'])];
    const file = await api.upload(lines);
    const batch = await api.finished((await api.createBatch(file.id, { endpoint: '/v1/embeddings' })).id);
    expect(batch.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
    const answers = new Map(
      parseLines((await both(batch.id)).output).map((line) => [line.custom_id, line.response!.body.data]),
    );
    expect(answers.get('one')).toHaveLength(1);
    expect(answers.get('many')!.map(({ embedding }) => embedding.length)).toEqual([64, 64, 64]);
  });
});

describe('reading while a batch runs', () => {
  it('returns each line once, in the order of the final file', async () => {
    const contents = (n: number) => (n % 9 === 4 ? '[[fail 400]]' : `[[delay ${5 + (n % 7) * 5}]] row-${n}`);
    const { id } = await api.createBatch((await api.upload(chatLines(400, contents))).id);
    const seen = { output: '', errors: '' };
    const lines = { output: 0, errors: 0 };
    let partial = 0;
    let over = false;
    while (!over) {
      over = isFinished(await api.batch(id));
      for (const stream of ['output', 'errors'] as const) {
        const { text, headers } = await api.results(id, stream, lines[stream]);
        if (text !== '' && headers.get('x-incomplete') === 'true') partial++;
        seen[stream] += text;
        lines[stream] = Number(headers.get('x-last-line'));
      }
    }
    const batch = await api.batch(id);
    expect(partial).toBeGreaterThan(3);
    expect(seen.output).toBe(await content(batch.output_file_id!));
    expect(seen.errors).toBe(await content(batch.error_file_id!));
    expect(lines).toEqual({ output: 356, errors: 44 });
    expect((await api.results(id, 'output', 300)).text).toBe(seen.output.split('\n').slice(300).join('\n'));
  });
});

describe('cancelling under load', () => {
  it('ends soon, keeps finished results, and does not affect other batches', async () => {
    const contents = (n: number) => `[[delay 30]] row-${n}`;
    const file = await api.upload(chatLines(2000, contents));
    const { id } = await api.createBatch(file.id);
    const other = await api.createBatch({ requests: chatLines(50) });
    await until('it is in full swing', async () => (await api.batch(id)).request_counts.completed > 50);
    expect((await api.post<BatchBody>(`/v1/batches/${id}/cancel`, {})).status).toBe('cancelling');
    const batch = await api.finished(id);
    expect(batch.status).toBe('cancelled');
    const { completed, failed } = batch.request_counts;
    expect(completed + failed).toBe(2000);
    expect(completed).toBeLessThan(2000);
    const { output, errors } = await both(id);
    expect([parseLines(output).length, parseLines(errors).length]).toEqual([completed, failed]);
    expect(endings(output, errors).distinct.size).toBe(2000);
    expect(batch.error_summary).toMatchObject([{ code: 'batch_cancelled', count: failed }]);
    expect((await api.finished(other.id)).request_counts.completed).toBe(50);
  });
});
