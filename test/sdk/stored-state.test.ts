import { ResponsesWS } from 'openai/resources/responses/ws';
import type { Response } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EngineConfig } from '../../src/core/config.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { createClient, sdks } from './clients.ts';
import type { Client } from './clients.ts';

// State beyond one answer through the official clients: compaction, conversations, WebSockets, stored chat
// completions.

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

/** Last request to the upstream. */
const asked = () =>
  JSON.parse(upstream.received.at(-1)!.text) as { messages: { role: string; content: unknown }[] };
const answering = (content: string | null, finish = 'stop') => {
  upstream.answer = (response) =>
    response.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
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

    it('keeps user messages and summarizes the rest in an item that works as input', async () => {
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
      // A second compaction includes the first summary and the later items.
      answering('Tuesday, here.');
      const again = await client.responses.compact({ model: 'remote', input });
      expect(again.output.map(({ type }) => type)).toEqual(['message', 'message', 'message', 'compaction']);
      expect(JSON.stringify(asked().messages)).toContain('We launch on Tuesday.');
    });

    it('may come from a stored response, and is not stored itself', async () => {
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

    it('fails on an empty input, an unusable summary and a foreign summary', async () => {
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
      for (const finish of ['length', 'content_filter']) {
        answering('We launch on', finish);
        expect(await compact({ model: 'remote', input: 'x' })).toMatchObject({
          status: 502,
          message: expect.stringContaining(`cut off (${finish})`),
        });
      }
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

  describe('a conversation', () => {
    const list = async (id: string, query: object = { order: 'asc' }) => {
      const items = [];
      for await (const item of client.conversations.items.list(id, query)) items.push(item);
      return items;
    };
    const user = (content: string) => ({ role: 'user' as const, content });
    const saying = (text: string) => ({ content: [expect.objectContaining({ text })] });

    it('can be created, read, updated and deleted', async () => {
      const empty = await client.conversations.create();
      expect(empty).toMatchObject({
        id: expect.stringMatching(/^conv_[0-9a-f]{32}$/),
        object: 'conversation',
        created_at: expect.any(Number),
        metadata: {},
      });
      const metadata = { topic: 'milk' };
      const made = await client.conversations.create({ metadata, items: [user('hello')] });
      expect(await list(made.id)).toMatchObject([{ type: 'message', role: 'user', status: 'completed' }]);
      const changed = await client.conversations.update(made.id, { metadata: { topic: 'bread' } });
      expect(changed).toMatchObject({ id: made.id, metadata: { topic: 'bread' } });
      expect(await client.conversations.retrieve(made.id)).toMatchObject({ metadata: { topic: 'bread' } });
      expect(await client.conversations.delete(made.id)).toMatchObject({
        id: made.id,
        object: 'conversation.deleted',
        deleted: true,
      });
      for (const call of [
        () => client.conversations.retrieve(made.id),
        () => client.conversations.delete(made.id),
        () => client.conversations.update(made.id, { metadata: {} }),
        () => client.conversations.items.create(made.id, { items: [user('x')] }),
        () => list(made.id),
        () => client.responses.create({ model, input: 'x', conversation: made.id }),
      ])
        expect(await raised(call())).toMatchObject({ status: 404, code: 'not_found' });
    });

    it('has items, listed in pages and deleted one by one', async () => {
      const { id } = await client.conversations.create();
      const call = { type: 'function_call' as const, call_id: 'call_1', name: 'f', arguments: '{}' };
      const added = await client.conversations.items.create(id, {
        items: [{ id: 'mine', ...user('a') }, call, { role: 'assistant', content: 'b' }] as never,
      });
      expect(added).toMatchObject({
        object: 'list',
        has_more: false,
        data: [{ type: 'message' }, { type: 'function_call' }, { type: 'message', role: 'assistant' }],
      });
      expect(added.data[0]).toMatchObject({ id: expect.stringMatching(/^msg_/), ...saying('a') });
      expect(await list(id, { order: 'asc', limit: 2 })).toEqual(added.data);
      expect(await list(id, { limit: 1 })).toEqual(added.data.toReversed());
      const { id: item } = added.data[1] as { id: string };
      expect(await client.conversations.items.retrieve(item, { conversation_id: id })).toMatchObject(call);
      expect(await client.conversations.items.delete(item, { conversation_id: id })).toMatchObject({ id });
      expect(await list(id)).toEqual([added.data[0], added.data[2]]);
      for (const gone of [
        () => client.conversations.items.retrieve(item, { conversation_id: id }),
        () => client.conversations.items.delete(item, { conversation_id: id }),
      ])
        expect(await raised(gone())).toMatchObject({ status: 404 });
      expect(await raised(list(id, { after: item }))).toMatchObject({ status: 422, param: 'after' });
      const add = (items: unknown) => raised(client.conversations.items.create(id, { items } as never));
      expect(await add([])).toMatchObject({ status: 422, param: 'items' });
      expect(await add(Array.from({ length: 21 }, () => user('x')))).toMatchObject({ param: 'items' });
      expect(await add([{ role: 'user' }])).toMatchObject({ status: 422, param: 'items[0].content' });
      expect(await add([user('x'), { type: 'item_reference', id: 'x' }])).toMatchObject({
        param: 'items[1]',
      });
    });

    it('collects the turns of its responses', async () => {
      const { id } = await client.conversations.create({ items: [user('My name is Ada.')] });
      const first = await client.responses.create({ model, input: 'I like milk.', conversation: id });
      expect(first).toMatchObject({ conversation: { id }, previous_response_id: null });
      const stream = await client.responses.create({
        model,
        input: 'And bread.',
        conversation: { id },
        store: false,
        stream: true,
      });
      for await (const event of stream) if (event.type === 'response.completed') break;
      answering('Ada.');
      const last = await client.responses.create({ model: 'remote', input: 'Who am I?', conversation: id });
      expect(asked().messages).toEqual([
        { role: 'user', content: 'My name is Ada.' },
        { role: 'user', content: 'I like milk.' },
        { role: 'assistant', content: 'Echo: I like milk.' },
        { role: 'user', content: 'And bread.' },
        { role: 'assistant', content: 'Echo: And bread.' },
        { role: 'user', content: 'Who am I?' },
      ]);
      const items = await list(id);
      expect(items).toHaveLength(7);
      expect(items.at(-1)).toEqual(last.output[0]);
      expect(await client.responses.retrieve(last.id)).toMatchObject({ conversation: { id } });
      // An item with one of our IDs is stored only once.
      await client.responses.create({
        model,
        input: [last.output[0]!, user('So?')] as never,
        conversation: id,
      });
      expect(await list(id)).toHaveLength(9);
      const counted = await client.responses.inputTokens.count({ model, input: 'x', conversation: id });
      const alone = await client.responses.inputTokens.count({ model, input: 'x' });
      expect(counted.input_tokens).toBeGreaterThan(alone.input_tokens);
      const both = { model, input: 'x', conversation: id, previous_response_id: last.id };
      expect(await raised(client.responses.create(both))).toMatchObject({
        status: 422,
        param: 'conversation',
      });
      const after = { model, input: 'x', previous_response_id: last.id };
      expect(await raised(client.responses.create(after))).toMatchObject({
        status: 422,
        param: 'previous_response_id',
      });
      await client.conversations.delete(id);
      expect((await client.responses.retrieve(first.id)).output_text).toBe('Echo: I like milk.');
    });

    it('excludes failed and cancelled responses, and those that outlive it', async () => {
      const { id } = await client.conversations.create();
      const inIt = { model, conversation: id };
      await raised(client.responses.create({ ...inIt, input: '[[fail 500]]' }));
      const hanging = await client.responses.create({ ...inIt, input: '[[hang]]', background: true });
      expect((await client.responses.cancel(hanging.id)).status).toBe('cancelled');
      expect(await list(id)).toEqual([]);
      const done = await client.responses.create({ ...inIt, input: 'later', background: true });
      const end = await client.responses.retrieve(done.id, { stream: true });
      for await (const event of end) if (event.type === 'response.completed') break;
      expect(await list(id)).toMatchObject([saying('later'), saying('Echo: later')]);
      upstream.answer = async (response) => {
        await client.conversations.delete(id);
        answering('Too late.');
        await upstream.answer(response, undefined as never);
      };
      const late = await client.responses.create({ ...inIt, model: 'remote', input: 'x' });
      expect(late.output_text).toBe('Too late.');
      expect((await client.responses.retrieve(late.id)).output_text).toBe('Too late.');
      expect(await raised(client.conversations.retrieve(id))).toMatchObject({ status: 404 });
    });
  });

  describe('a chat completion with store: true', () => {
    const messages = [
      { role: 'system' as const, content: 'Be short.' },
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'one two' }] },
    ];
    const list = async (query: object) => {
      const ids = [];
      for await (const { id } of client.chat.completions.list(query)) ids.push(id);
      return ids;
    };

    it('can be stored, read, listed, updated and deleted', async () => {
      const mark = `${sdk === sdks[0]!.sdk}`;
      const ask = (more: object) => client.chat.completions.create({ model, messages, ...more });
      const { _request_id: _, ...made } = await ask({ store: true, metadata: { mark, n: '1' } });
      const stream = (await ask({ store: true, metadata: { mark }, stream: true })) as unknown;
      let streamed = '';
      for await (const chunk of stream as AsyncIterable<{ id: string }>) streamed = chunk.id;
      const passing = await ask({ metadata: { n: 1 } as never });
      const { _request_id: __, ...read } = await client.chat.completions.retrieve(made.id);
      expect(read).toEqual({ ...made, metadata: { mark, n: '1' } });
      expect(await client.chat.completions.retrieve(streamed)).toMatchObject({
        object: 'chat.completion',
        choices: [{ message: { content: 'Echo: one two' }, finish_reason: 'stop' }],
        usage: made.usage,
      });
      expect(await raised(client.chat.completions.retrieve(passing.id))).toMatchObject({ status: 404 });
      expect(await list({ limit: 1, metadata: { mark } })).toEqual([made.id, streamed]);
      expect(await list({ order: 'desc', metadata: { mark } })).toEqual([streamed, made.id]);
      expect(await list({ model: 'tiny', metadata: { mark, n: '1' } })).toEqual([made.id]);
      expect(await list({ model: 'remote' })).toEqual([]);
      const told = [];
      for await (const each of client.chat.completions.messages.list(made.id, { limit: 1 })) told.push(each);
      expect(told).toEqual([
        { id: `${made.id}-0`, role: 'system', content: 'Be short.', content_parts: null },
        { id: `${made.id}-1`, role: 'user', content: 'one two', content_parts: messages[1]!.content },
      ]);
      const changed = await client.chat.completions.update(made.id, { metadata: { mark: 'new' } });
      expect(changed).toMatchObject({ id: made.id, metadata: { mark: 'new' } });
      expect(await client.chat.completions.delete(made.id)).toMatchObject({ id: made.id, deleted: true });
      for (const gone of [
        () => client.chat.completions.retrieve(made.id),
        () => client.chat.completions.messages.list(made.id).then(),
        () => client.chat.completions.update(made.id, { metadata: {} }),
        () => client.chat.completions.delete(made.id),
      ])
        expect(await raised(gone())).toMatchObject({ status: 404, code: 'not_found' });
      expect(await raised(ask({ store: true, metadata: { n: 1 } as never }))).toMatchObject({
        status: 422,
        param: 'metadata.n',
      });
      const many = Object.fromEntries(Array.from({ length: 17 }, (_each, n) => [`n${n}`, 'x']));
      expect(await raised(list({ metadata: many }))).toMatchObject({ status: 422, param: 'metadata' });
      const before = await list({});
      await raised(ask({ store: true, messages: [{ role: 'user', content: '[[fail 500]]' }] }));
      expect(await list({})).toEqual(before);
    });
  });
});

describe('a WebSocket of the official client', () => {
  it('continues one turn after the other and reports errors', async () => {
    const socket = new ResponsesWS(createClient(sdks[0]!.sdk, running));
    const turn = (more: object) => {
      const ended = new Promise<Response>((resolve, reject) => {
        socket.once('response.completed', ({ response }) => resolve(response));
        socket.once('error', reject);
      });
      socket.send({ type: 'response.create', model, store: false, input: 'x', ...more });
      return ended;
    };
    const first = await turn({ input: 'My name is Ada.' });
    const second = await turn({ input: 'Who am I?', previous_response_id: first.id });
    expect(second).toMatchObject({ status: 'completed', previous_response_id: first.id });
    await expect(turn({ previous_response_id: `resp_${'0'.repeat(32)}` })).rejects.toMatchObject({
      error: { error: { code: 'previous_response_not_found' } },
    });
    socket.close();
  });
});
