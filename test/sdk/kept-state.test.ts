import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EngineConfig } from '../../src/core/config.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { createClient, sdks } from './clients.ts';
import type { Client } from './clients.ts';

// What is kept of a conversation beyond one answer, through the official clients: compaction.

const model = 'default';
let running: RunningApp;
let upstream: FakeUpstream;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const remote = { ...testModel(upstreamEngine(upstream.url)), id: 'remote', aliases: [] };
  const takesResponses = { ...upstreamEngine(upstream.url), capabilities: {} } as EngineConfig;
  const native = { ...testModel(takesResponses), id: 'native', aliases: [] };
  running = await startApp({ models: [testModel(), remote, native] });
});
afterAll(async () => {
  await running?.stop();
  await upstream?.close();
});

/** What the engine was asked the last time. */
const asked = () =>
  JSON.parse(upstream.received.at(-1)!.text) as { messages: { role: string; content: unknown }[] };
const answering = (content: string | null) => {
  upstream.answer = (response) =>
    response.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 90, completion_tokens: 4, total_tokens: 94 },
      }),
    );
};

describe.each(sdks)('through $name', ({ sdk }) => {
  let client: Client;
  beforeAll(() => {
    client = createClient(sdk, running);
  });
  const raised = async (call: Promise<unknown>) => {
    const error: unknown = await call.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(sdk.APIError);
    const { status, code, param, message } = error as InstanceType<typeof sdk.APIError>;
    return { status, code, param, message };
  };

  describe('a compacted conversation', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' } as const;
    const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' } as const;

    it('keeps what the user said, and tells the rest in an item that goes on as input', async () => {
      answering(' We launch on Tuesday. ');
      const compacted = await client.responses.compact({
        model: 'remote',
        instructions: 'Be short.',
        input: [
          { role: 'developer', content: 'Be kind.' },
          { role: 'user', content: [{ type: 'input_text', text: 'When?' }, image] },
          call,
          { type: 'function_call_output', call_id: 'call_1', output: 'Tuesday' },
          { role: 'assistant', content: 'On Tuesday.' },
        ],
      });
      expect(asked().messages.at(0)).toMatchObject({ role: 'system', content: 'Be short.\n\nBe kind.' });
      expect(asked().messages.at(-1)).toMatchObject({
        role: 'user',
        content: expect.stringMatching(/summary/),
      });
      expect(compacted).toMatchObject({
        id: expect.stringMatching(/^resp_/),
        object: 'response.compaction',
        output: [
          { type: 'message', role: 'developer' },
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'When?' }, image] },
          { type: 'compaction', id: expect.stringMatching(/^cmp_/), encrypted_content: expect.any(String) },
        ],
        usage: { input_tokens: 90, output_tokens: 4, total_tokens: 94 },
      });
      const input = [...compacted.output, { role: 'user' as const, content: 'And where?' }] as never;
      for (const name of ['remote', 'native']) {
        answering('Here.');
        if (name === 'native') upstream.answer = (response) => response.end('{}');
        const next = client.responses.create({ model: name, input });
        if (name === 'native') await raised(next);
        else await next;
        expect(upstream.received.at(-1)!.text).toContain('We launch on Tuesday.');
        expect(upstream.received.at(-1)!.text).not.toContain('encrypted_content":"offpeak');
      }
      // Again: the summary is summed up with what came after it.
      answering('Tuesday, here.');
      const again = await client.responses.compact({ model: 'remote', input });
      expect(again.output.map(({ type }) => type)).toEqual(['message', 'message', 'message', 'compaction']);
      expect(JSON.stringify(asked().messages)).toContain('We launch on Tuesday.');
    });

    it('may be a stored one, and is not stored itself', async () => {
      const first = await client.responses.create({ model, input: 'My name is Ada.' });
      const compacted = await client.responses.compact({
        model,
        previous_response_id: first.id,
      });
      expect(compacted.output).toMatchObject([{ role: 'user' }, { type: 'compaction' }]);
      expect(await raised(client.responses.retrieve(compacted.id))).toMatchObject({ status: 404 });
      const next = await client.responses.create({ model, input: compacted.output as never });
      expect(next.status).toBe('completed');
      const { data } = await client.responses.inputItems.list(next.id);
      expect(data[0]).toEqual(compacted.output[1]);
    });

    it('is refused where it says nothing, or what nobody can read', async () => {
      const compact = (more: object) => raised(client.responses.compact({ model, ...more }));
      expect(await compact({})).toMatchObject({ status: 422, param: 'input' });
      expect(await compact({ input: [] })).toMatchObject({ status: 422, param: 'input' });
      expect(await compact({ model: undefined, input: 'x' })).toMatchObject({ status: 422, param: 'model' });
      expect(await compact({ input: [{ role: 'nobody', content: 'x' }] })).toMatchObject({
        status: 422,
        param: 'input[0].role',
      });
      answering('  ');
      expect(await compact({ model: 'remote', input: 'x' })).toMatchObject({
        status: 502,
        code: 'invalid_upstream_response',
      });
      const foreign = [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' }] as never;
      for (const stream of [false, true])
        expect(await raised(client.responses.create({ model, input: foreign, stream }))).toMatchObject({
          status: 422,
          param: 'input[0].encrypted_content',
        });
      upstream.answer = (response) => response.end('{}');
      await raised(client.responses.create({ model: 'native', input: foreign }));
      expect(upstream.received.at(-1)!.text).toContain('"encrypted_content":"gAAAA"');
    });
  });
});
