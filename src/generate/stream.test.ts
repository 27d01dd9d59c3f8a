import { describe, expect, it } from 'vitest';
import {
  chatChunk,
  chatRequest,
  chatResponse,
  createFakeEngine,
  usageChunk,
} from '../../test/support/fake-engine.ts';
import { ApiError } from '../core/errors.ts';
import type { Capabilities } from '../engines/engines.ts';
import type { ChatChunk, ChatRequest } from '../wire/chat/chat.ts';
import type { Promised } from './conformity.ts';
import { streamPromised } from './stream.ts';

const { signal } = new AbortController();
const promised: Promised = {
  async check(response) {
    if (response.choices[0]?.message.content === 'bad') throw new ApiError('schema_not_met', 'bad');
  },
};
const schema: Partial<ChatRequest> = {
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } },
};
const streamed = { stream: true, stream_options: { include_usage: true } };

async function run(
  capabilities: Partial<Capabilities>,
  more: Partial<ChatRequest>,
  promise: Promised | null,
) {
  const engine = createFakeEngine(capabilities);
  engine.answers = [chatResponse('bad'), chatResponse('good')];
  engine.chunks = [chatChunk('live'), chatChunk(null, 'stop'), usageChunk(1, 1)];
  const chunks: ChatChunk[] = [];
  for await (const chunk of streamPromised(engine, chatRequest({ ...streamed, ...more }), promise, signal))
    chunks.push(chunk);
  return { engine, text: chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('') };
}

describe('streamPromised', () => {
  it('passes an answer on as it comes when nothing was promised', async () => {
    const { engine, text } = await run({}, {}, null);
    expect(text).toBe('live');
    expect(engine.asked[0]).toMatchObject({
      request: { value: streamed },
      call: { signal, priority: 'interactive' },
    });
  });

  it('checks an answer before anybody sees it, where the engine cannot hold the promise', async () => {
    const { engine, text } = await run({ jsonSchema: 'native' }, schema, promised);
    expect(text).toBe('good');
    expect(engine.asked).toHaveLength(2);
    for (const { request } of engine.asked) {
      expect(request.value).not.toHaveProperty('stream');
      expect(JSON.parse(request.text)).toEqual(request.value);
    }
  });

  it.each([
    ['a schema', { jsonSchema: 'exact' }, schema, 'live'],
    ['a forced tool', { forcedTool: 'exact' }, { tool_choice: 'required' }, 'live'],
    [
      'a forced tool, by an engine that is exact about schemas only',
      { jsonSchema: 'exact' },
      { tool_choice: 'required' },
      'good',
    ],
    ['a schema, by an engine that is exact about tools only', { forcedTool: 'exact' }, schema, 'good'],
  ] as [string, Partial<Capabilities>, Partial<ChatRequest>, string][])(
    'knows who holds %s',
    async (_what, can, more, text) => {
      expect((await run(can, more, promised)).text).toBe(text);
    },
  );
});
