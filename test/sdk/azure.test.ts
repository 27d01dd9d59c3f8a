import { AzureOpenAI } from 'openai';
import { AzureOpenAI as AzureOpenAI6 } from 'openai6';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';

describe.each([
  { name: 'openai 7', sdk: AzureOpenAI },
  { name: 'openai 6', sdk: AzureOpenAI6 as unknown as typeof AzureOpenAI },
])('AzureOpenAI of $name', ({ sdk }) => {
  let running: RunningApp;
  beforeAll(async () => void (running = await startApp()));
  afterAll(() => running?.stop());

  const clientOf = (more: object = {}) =>
    new sdk({
      endpoint: running.url,
      apiKey: running.key,
      apiVersion: '2024-10-21',
      maxRetries: 0,
      ...more,
    });
  const messages = [{ role: 'user' as const, content: 'Hello!' }];

  it('chats with a model as its deployment, also in a stream', async () => {
    const { chat } = clientOf();
    const answer = await chat.completions.create({ model: 'tiny', messages });
    expect([answer.model, answer.choices[0]!.message.content]).toEqual(['tiny', 'Echo: Hello!']);
    const deployed = clientOf({ deployment: 'tiny' });
    const other = await deployed.chat.completions.create({ model: 'gpt-4.1', messages });
    expect(other.model).toBe('tiny');
    let text = '';
    for await (const { choices } of await deployed.chat.completions.create({
      model: '',
      messages,
      stream: true,
    }))
      text += choices[0]?.delta.content ?? '';
    expect(text).toBe('Echo: Hello!');
  });

  it('embeds, completes and responds', async () => {
    const client = clientOf({ deployment: 'tiny' });
    expect((await client.embeddings.create({ model: 'x', input: ['a', 'b'] })).data).toHaveLength(2);
    expect((await client.completions.create({ model: 'x', prompt: 'hi' })).object).toBe('text_completion');
    expect((await client.responses.create({ model: 'tiny', input: 'hi' })).output_text).toBe('Echo: hi');
    expect((await client.models.list()).data[0]?.id).toBe('tiny');
  });

  it('raises NotFoundError for an unknown deployment', async () => {
    const unknown = clientOf().chat.completions.create({ model: 'none', messages });
    await expect(unknown).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  });
});
