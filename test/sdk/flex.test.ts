import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningApp, startApp } from '../support/app.ts';
import { createMessagesClient, messagesSdks } from './anthropic-clients.ts';
import { createClient, createLossyFetch, sdks } from './clients.ts';

// Flex requests by official clients, unmodified: the answer that they assemble, and their retries.

let running: RunningApp;
beforeAll(async () => void (running = await startApp()));
afterAll(() => running?.stop());

const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const usedTool = (content: string) => [{ role: 'user' as const, content }];
const plain = { model: 'default', messages: usedTool('hello'), service_tier: 'flex' as const };

describe.each(sdks)('flex requests through $name', ({ sdk }) => {
  const client = () => createClient(sdk, running);

  it('answer a chat completion, streamed or not', async () => {
    const whole = await client().chat.completions.create(plain);
    expect(whole).toMatchObject({ service_tier: 'flex', choices: [{ message: { content: 'Echo: hello' } }] });
    const options = { stream_options: { include_usage: true } };
    const streamed = await client()
      .chat.completions.stream({ ...plain, ...options })
      .finalChatCompletion();
    expect(streamed).toMatchObject({
      service_tier: 'flex',
      choices: [{ message: { content: 'Echo: hello' } }],
    });
    expect(streamed.usage).toEqual(whole.usage);
  });

  it('assemble a streamed call', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }];
    const messages = usedTool('[[tool weather {"city":"Rome"}]]');
    const stream = client().chat.completions.stream({ ...plain, messages, tools });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'weather', arguments: '{"city":"Rome"}' } }] },
    });
  });

  it('answer a response, streamed or not, and retrieve it', async () => {
    const asked = { model: 'default', input: 'hello', service_tier: 'flex' as const };
    const whole = await client().responses.create(asked);
    expect([whole.output_text, whole.service_tier]).toEqual(['Echo: hello', 'flex']);
    const streamed = await client().responses.stream(asked).finalResponse();
    expect([streamed.output_text, streamed.service_tier]).toEqual(['Echo: hello', 'flex']);
    const stored = await client().responses.retrieve(streamed.id);
    expect([stored.output_text, stored.service_tier]).toEqual(['Echo: hello', 'flex']);
  });

  it('join the first request when an answer is lost', async () => {
    const { fetch, retries } = createLossyFetch('/chat/completions');
    const retrying = createClient(sdk, { ...running, maxRetries: 2, fetch });
    const before = await flexRequests();
    const answer = await retrying.chat.completions.create({ ...plain, messages: usedTool('is lost') });
    expect(answer.choices[0]!.message.content).toBe('Echo: is lost');
    expect(retries).toEqual(['0', '1']);
    expect((await flexRequests()) - before).toBe(1);
  });
});

describe.each(messagesSdks)('flex requests through $name', ({ sdk }) => {
  const asked = { model: 'default', max_tokens: 99, service_tier: 'flex' as 'auto' };
  const tools = [{ name: 'weather', input_schema: parameters }];

  it.each(['hello', '[[tool weather {"city":"Rome"}]]'])('answer %j, streamed or not', async (content) => {
    const client = createMessagesClient(sdk, running);
    const params = { ...asked, tools, messages: usedTool(content) };
    const { id: _, ...whole } = await client.messages.create(params);
    expect(whole.usage.service_tier).toBe('batch');
    const { id: _id, ...streamed } = await client.messages.stream(params).finalMessage();
    expect(streamed).toMatchObject(whole);
  });
});

describe('a flex request that finds no room in its time', () => {
  let slow: RunningApp;
  beforeAll(async () => void (slow = await startApp({ batch: { flexTimeoutMs: 500 } })));
  afterAll(() => slow?.stop());

  it('is refused, with the time to wait, and is not charged', async () => {
    const client = createClient(sdks[0]!.sdk, slow);
    const asked = { ...plain, messages: usedTool('[[hang]]') };
    await expect(client.chat.completions.create(asked)).rejects.toMatchObject({
      status: 429,
      code: 'resource_unavailable',
      headers: expect.objectContaining(new Headers({ 'retry-after': '60' })),
    });
    const stream = await client.chat.completions.create({ ...asked, stream: true });
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toMatchObject({ code: 'resource_unavailable' });
  });
});

/** Number of flex requests in the usage. */
async function flexRequests(): Promise<number> {
  const headers = { authorization: `Bearer ${running.key}` };
  const answer = await fetch(`${running.url}/v1/usage?group_by=tier`, { headers });
  const { data } = (await answer.json()) as { data: { tier: string; requests: number }[] };
  return data.find(({ tier }) => tier === 'flex')?.requests ?? 0;
}
