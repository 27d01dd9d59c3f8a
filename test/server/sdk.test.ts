import OpenAi7 from 'openai';
import OpenAi6 from 'openai6';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLines } from './support/jsonl.ts';
import { type Running, startServer } from './support/start-server.ts';

let app: Running;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

/** The second major has the same methods; its types differ in details that matter to nobody here. */
const majors = [
  ['openai 7', OpenAi7],
  ['openai 6', OpenAi6 as unknown as typeof OpenAi7],
] as const;

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

describe.each(majors)('%s, unmodified', (_name, OpenAi) => {
  const client = (apiKey = app.keys.a) => new OpenAi({ apiKey, baseURL: `${app.url}/v1`, maxRetries: 0 });

  it('uploads, batches, waits, downloads and cleans up', async () => {
    const sdk = client();
    const file = await sdk.files.create({
      file: new File([chatLines(3)], 'night.jsonl'),
      purpose: 'batch',
      expires_after: { anchor: 'created_at', seconds: 3600 },
    });
    expect(file).toMatchObject({ filename: 'night.jsonl', status: 'processed' });
    const batch = await sdk.batches.create({
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      input_file_id: file.id,
      metadata: { job: 'night' },
    });
    await expect
      .poll(async () => (await sdk.batches.retrieve(batch.id)).status, { timeout: 20_000 })
      .toBe('completed');
    const done = await sdk.batches.retrieve(batch.id);
    expect(done.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    const text = await (await sdk.files.content(done.output_file_id ?? '')).text();
    expect(text.trim().split('\n')).toHaveLength(3);
    expect(await sdk.files.delete(file.id)).toEqual({ id: file.id, object: 'file', deleted: true });
  });

  it('pages by itself through lists longer than a page', async () => {
    const sdk = client();
    for (let n = 0; n < 3; n++)
      await sdk.files.create({
        file: new File([chatLines(1, { content: () => `${_name} ${n}` })], 'x.jsonl'),
        purpose: 'batch',
      });
    const ids: string[] = [];
    for await (const file of sdk.files.list({ limit: 1, purpose: 'batch' })) ids.push(file.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(3);
    const batches: string[] = [];
    for await (const batch of sdk.batches.list({ limit: 1 })) batches.push(batch.id);
    expect(batches.length).toBeGreaterThanOrEqual(1);
  });

  it('chats, streams with usage, embeds, reads models with slashes', async () => {
    const sdk = client();
    const messages = [{ role: 'user' as const, content: 'hi [[tokens 3]]' }];
    const answer = await sdk.chat.completions.create({ model: 'tiny', messages });
    expect(answer.choices[0]?.message.content).toBe('word word word');
    expect(answer).toMatchObject({ _request_id: expect.stringMatching(/^req_/) });
    const stream = await sdk.chat.completions.create({
      model: 'tiny',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let tokens = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      tokens += chunk.usage?.completion_tokens ?? 0;
    }
    expect([text, tokens]).toEqual(['word word word', 3]);
    const { data } = await sdk.embeddings.create({ model: 'tiny', input: ['a', 'b'] });
    expect(data.map((item) => item.embedding.length)).toEqual([64, 64]);
    expect((await sdk.models.retrieve('org/model:tag')).id).toBe('org/model:tag');
    expect((await collect(sdk.models.list())).map((model) => model.id)).toContain('tiny');
  });

  it('raises its own errors with our text, code, param and request id', async () => {
    const wrong = client().chat.completions.create({
      model: 'tiny',
      messages: [{ role: 'robot' as 'user', content: 'x' }],
    });
    await expect(wrong).rejects.toMatchObject({
      status: 422,
      code: 'validation_error',
      param: 'messages[0].role',
      type: 'invalid_request_error',
      requestID: expect.stringMatching(/^req_/),
      message: expect.stringContaining('messages[0].role'),
    });
    await expect(client('sk-nobody').models.list()).rejects.toBeInstanceOf(OpenAi.AuthenticationError);
    await expect(client().batches.retrieve(`batch_${'0'.repeat(32)}`)).rejects.toBeInstanceOf(
      OpenAi.NotFoundError,
    );
    await expect(client(app.keys.admin).files.list()).rejects.toBeInstanceOf(OpenAi.PermissionDeniedError);
  });

  it('throws when a stream breaks in the middle', async () => {
    const messages = [{ role: 'user' as const, content: '[[cut 2]]' }];
    const stream = await client().chat.completions.create({ model: 'tiny', messages, stream: true });
    await expect(collect(stream)).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });

  it('makes one batch when it silently repeats a create whose answer was lost', async () => {
    let lost = 0;
    const sdk = new OpenAi({
      apiKey: app.keys.a,
      baseURL: `${app.url}/v1`,
      maxRetries: 2,
      async fetch(url, init) {
        const response = await fetch(url, init);
        if (response.url.endsWith('/batches') && init?.method === 'POST' && lost++ < 2)
          throw new Error('the answer was lost');
        return response;
      },
    });
    const file = await sdk.files.create({
      file: new File([chatLines(1, { content: () => `lost ${_name}` })], 'l.jsonl'),
      purpose: 'batch',
    });
    const batch = await sdk.batches.create({
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      input_file_id: file.id,
    });
    expect(lost).toBe(3);
    const all = await sdk.batches.list({ limit: 100 });
    expect(all.data.filter((item) => item.input_file_id === file.id).map((item) => item.id)).toEqual([
      batch.id,
    ]);
  });
});
