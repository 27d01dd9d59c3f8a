import { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine, chatLines, embeddingsLine, jsonl, parseLines } from '../support/batch-lines.ts';
import type { Line, ResultLine } from '../support/batch-lines.ts';
import { until } from '../support/until.ts';
import { createClient, createLossyFetch, sdks } from './clients.ts';
import type { Client } from './clients.ts';

type BatchParams = Parameters<Client['batches']['create']>[0];

/** Parameters with inline `requests`, which the client sends although its types lack them. */
function inline(requests: Line[], more: object = {}): BatchParams {
  const params = { endpoint: '/v1/chat/completions', completion_window: '24h', requests, ...more };
  return params as unknown as BatchParams;
}

describe.each(sdks)('batches through $name', ({ sdk }) => {
  let running: RunningApp;
  let client: Client;

  beforeAll(async () => {
    running = await startApp({ batch: { endpoints: batchEndpoints } });
    client = createClient(sdk, running);
  });

  afterAll(() => running?.stop());

  const upload = async (lines: Line[]) =>
    client.files.create({ file: await toFile(Buffer.from(jsonl(lines)), 'in.jsonl'), purpose: 'batch' });

  const finished = (id: string) =>
    until(`batch ${id} ends`, async () => {
      const batch = await client.batches.retrieve(id);
      return ['completed', 'failed', 'expired', 'cancelled'].includes(batch.status) && batch;
    });

  it('runs from upload to results', async () => {
    const file = await upload([...chatLines(25), chatLine('refused', '[[fail 400]]')]);
    const created = await client.batches.create({
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      input_file_id: file.id,
      metadata: { team: 'night', run: '7' },
    });
    expect(created).toMatchObject({
      object: 'batch',
      endpoint: '/v1/chat/completions',
      input_file_id: file.id,
      request_counts: { total: 26 },
      metadata: { team: 'night', run: '7' },
    });

    const batch = await finished(created.id);
    expect(batch.status).toBe('completed');
    expect(batch.request_counts).toEqual({ total: 26, completed: 25, failed: 1 });
    const output = await (await client.files.content(batch.output_file_id!)).text();
    expect(
      parseLines(output)
        .map((line) => line.custom_id)
        .toSorted(),
    ).toEqual(
      chatLines(25)
        .map((line) => line.custom_id)
        .toSorted(),
    );
    for (const line of parseLines(output))
      expect(line.response?.body.choices[0]?.message.content).toBe(`Echo: ${line.custom_id}`);
    const errors = parseLines(await (await client.files.content(batch.error_file_id!)).text());
    expect(errors.map((line) => [line.custom_id, line.response?.status_code])).toEqual([['refused', 400]]);
    const usage = parseLines(output).reduce((sum, line) => sum + line.response!.body.usage.prompt_tokens, 0);
    expect(batch.usage).toMatchObject({ input_tokens: usage });
  });

  it('sends inline requests', async () => {
    const { id, input_file_id } = await client.batches.create(inline(chatLines(3)));
    expect(input_file_id).toMatch(/^file-/);
    expect((await finished(id)).request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
  });

  it('runs embeddings', async () => {
    const file = await upload([embeddingsLine('one', 'night'), embeddingsLine('two', ['a', 'b'])]);
    const { id } = await client.batches.create({
      endpoint: '/v1/embeddings',
      completion_window: '24h',
      input_file_id: file.id,
    });
    const { output_file_id } = await finished(id);
    const lines = parseLines(await (await client.files.content(output_file_id!)).text());
    const counts = Object.fromEntries(lines.map((line) => [line.custom_id, line.response!.body.data.length]));
    expect(counts).toEqual({ one: 1, two: 2 });
  });

  it('runs responses and completions if the configuration allows them', async () => {
    const bodies = { '/v1/responses': { input: 'night' }, '/v1/completions': { prompt: 'night' } };
    for (const [url, body] of Object.entries(bodies)) {
      const line: Line = { custom_id: 'a', method: 'POST', url, body: { model: 'default', ...body } };
      const file = await upload([line]);
      const { id } = await client.batches.create({
        endpoint: url as BatchParams['endpoint'],
        completion_window: '24h',
        input_file_id: file.id,
      });
      const { output_file_id, endpoint } = await finished(id);
      expect(endpoint).toBe(url);
      const [{ response }] = parseLines(await (await client.files.content(output_file_id!)).text()) as [
        ResultLine,
      ];
      if (url === '/v1/responses')
        expect(response!.body).toMatchObject({ object: 'response', status: 'completed', store: false });
      else expect(response!.body.choices).toMatchObject([{ text: 'Echo: night' }]);
    }
  });

  it('lists all batches across pages, newest first', async () => {
    const made: string[] = [];
    for (let n = 0; n < 7; n++) made.push((await client.batches.create(inline([chatLine(`p${n}`)]))).id);
    const listed: string[] = [];
    for await (const batch of client.batches.list({ limit: 2 })) listed.push(batch.id);
    expect(listed.slice(0, 7)).toEqual(made.toReversed());
    expect(new Set(listed).size).toBe(listed.length);
  });

  it('cancels idempotently, but not a finished batch', async () => {
    const requests = [...chatLines(4), ...chatLines(4, () => '[[hang]]').map(renamed)];
    const { id } = await client.batches.create(inline(requests));
    const file = (await client.batches.retrieve(id)).input_file_id;
    await expect(client.files.delete(file)).rejects.toThrow(sdk.ConflictError);
    expect((await client.batches.cancel(id)).status).toBe('cancelling');
    expect(['cancelling', 'cancelled']).toContain((await client.batches.cancel(id)).status);
    const batch = await finished(id);
    expect(batch.status).toBe('cancelled');
    expect(batch.request_counts!.completed + batch.request_counts!.failed).toBe(8);
    expect(await client.files.delete(file)).toMatchObject({ deleted: true });

    const { id: done } = await client.batches.create(inline(chatLines(1)));
    await finished(done);
    const refusal = await client.batches.cancel(done).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(sdk.ConflictError);
    expect(refusal).toMatchObject({ code: 'batch_not_cancellable' });
  });

  it('creates one batch if the response to the first attempt is lost', async () => {
    const { fetch, retries } = createLossyFetch('/v1/batches', 2);
    const unlucky = createClient(sdk, { ...running, fetch, maxRetries: 3 });
    const metadata = { lost: sdk === sdks[0]!.sdk ? 'seven' : 'six' };
    const { id } = await unlucky.batches.create(inline(chatLines(5), { metadata }));
    expect(retries).toEqual(['0', '1', '2']);
    const twins = [];
    for await (const batch of client.batches.list({ limit: 100 }))
      if (batch.metadata?.['lost'] === metadata.lost) twins.push(batch.id);
    expect(twins).toEqual([id]);
  });

  it('creates two batches for two deliberate calls', async () => {
    const params = inline(chatLines(2), { metadata: { twice: 'yes' } });
    const [first, second] = [await client.batches.create(params), await client.batches.create(params)];
    expect(first.id).not.toBe(second.id);
  });

  it('honors an idempotency key', async () => {
    const params = inline(chatLines(2), { metadata: { key: 'given' } });
    const headers = { 'Idempotency-Key': 'once-and-only-once' };
    const first = await client.batches.create(params, { headers });
    expect((await client.batches.create(params, { headers })).id).toBe(first.id);
    const other = client.batches.create(inline(chatLines(3)), { headers });
    await expect(other).rejects.toThrow(sdk.UnprocessableEntityError);
  });
});

function renamed(line: Line): Line {
  return { ...line, custom_id: `hanging-${line.custom_id}` };
}
