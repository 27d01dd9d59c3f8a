import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Running, startServer } from './support/start-server.ts';

let app: Running;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const post = (json: unknown) => app.call('POST', '/v1/embeddings', { json });

describe('POST /v1/embeddings', () => {
  it('200: one vector an input, as numbers', async () => {
    const { status, json } = await post({ model: 'vectors', input: ['a', 'b'], encoding_format: 'float' });
    expect(status).toBe(200);
    expect(json).toMatchObject({ object: 'list', model: 'vectors', data: [{ index: 0 }, { index: 1 }] });
    expect(json.data[0].embedding.every((value: unknown) => typeof value === 'number')).toBe(true);
  });

  it('200: the same vector as base64 of float32', async () => {
    const asFloats = (await post({ model: 'tiny', input: 'a' })).json.data[0].embedding as number[];
    const text = (await post({ model: 'tiny', input: 'a', encoding_format: 'base64' })).json.data[0]
      .embedding as string;
    const bytes = Buffer.from(text, 'base64');
    const vector = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    expect(vector).toEqual(Float32Array.from(asFloats));
  });

  it('422: a mixed input; 404: a model that only chats', async () => {
    expect((await post({ model: 'tiny', input: ['a', 1] })).json.error).toMatchObject({ param: 'input[1]' });
    expect((await post({ model: 'org/model:tag', input: 'a' })).status).toBe(404);
  });
});
