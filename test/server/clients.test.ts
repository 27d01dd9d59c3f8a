import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Json, type Running, startServer } from './support/start-server.ts';

// What programs that nobody here wrote send, as they sent it, and what they refuse in an answer.

let app: Running;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const post = (path: string, json: unknown, headers = {}) => app.call('POST', path, { json, headers });

/** The data of the events of a stream. */
function eventsOf(text: string): Json[] {
  return Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, data]) => JSON.parse(data!));
}

describe('@ai-sdk/anthropic 3, also in Mastra', () => {
  const text = z.object({
    type: z.literal('text'),
    text: z.string(),
    citations: z.array(z.object({ type: z.string() })).optional(),
  });
  const request = {
    model: 'tiny',
    max_tokens: 4096,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
  };

  it('takes a text without citations, and refuses one with null', async () => {
    const { json } = await post('/v1/messages', request);
    z.array(text).parse(json.content);
    const streamed = await post('/v1/messages', { ...request, stream: true });
    const starts = eventsOf(streamed.text).filter(({ type }) => type === 'content_block_start');
    expect(starts).toHaveLength(1);
    text.parse(starts[0].content_block);
  });
});
