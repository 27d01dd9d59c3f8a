import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const post = (json: unknown) => app.call('POST', '/v1/embeddings', { json });

describe('POST /v1/embeddings', () => {
  it('200: returns one vector per input, as numbers', async () => {
    const { status, json } = await post({ model: 'vectors', input: ['a', 'b'], encoding_format: 'float' });
    expect(status).toBe(200);
    expect(json).toMatchObject({ object: 'list', model: 'vectors', data: [{ index: 0 }, { index: 1 }] });
    expect(json.data[0].embedding.every((value: unknown) => typeof value === 'number')).toBe(true);
  });

  it('200: returns the same vector as base64 of float32', async () => {
    const asFloats = (await post({ model: 'tiny', input: 'a' })).json.data[0].embedding as number[];
    const text = (await post({ model: 'tiny', input: 'a', encoding_format: 'base64' })).json.data[0]
      .embedding as string;
    const bytes = Buffer.from(text, 'base64');
    const vector = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    expect(vector).toEqual(Float32Array.from(asFloats));
  });

  it.each<[string, unknown, number, number]>([
    ['a text', 'one two', 1, 2],
    ['texts', ['one', 'two', 'six'], 3, 3],
    ['a text as token ids', [1, 22, 333], 1, 3],
    ['texts as token ids', [[1, 2], [3]], 2, 3],
  ])('200: %s', async (_, input, vectors, tokens) => {
    const { status, json } = await post({ model: 'tiny', input, dimensions: 8, user: 'u' });
    expect(status).toBe(200);
    expect(json.data.map(({ index }: { index: number }) => index)).toEqual(
      Array.from({ length: vectors }, (__, at) => at),
    );
    for (const { object, embedding } of json.data)
      expect([object, embedding.length]).toEqual(['embedding', 8]);
    expect(json.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
  });

  it('200: keeps base64 in the result of a batch line', async () => {
    const body = { model: 'tiny', input: ['a', 'b'], encoding_format: 'base64', dimensions: 4 };
    const requests = [{ custom_id: 'a', method: 'POST', url: '/v1/embeddings', body }];
    const create = { endpoint: '/v1/embeddings', completion_window: '24h', requests };
    const { json: batch } = await app.call('POST', '/v1/batches', { json: create });
    const output = async () => (await app.call('GET', `/v1/batches/${batch.id}/output`)).text;
    await expect.poll(output).not.toBe('');
    const { data } = JSON.parse(await output()).response.body;
    const sizes = data.map(({ embedding }: { embedding: string }) => Buffer.from(embedding, 'base64').length);
    expect(sizes).toEqual([16, 16]);
  });

  it('422: a mixed input; 404: a model with only chat', async () => {
    expect((await post({ model: 'tiny', input: ['a', 1] })).json.error).toMatchObject({ param: 'input[1]' });
    expect((await post({ model: 'org/model:tag', input: 'a' })).status).toBe(404);
  });
});
