import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBilledKey } from './support/billed-key.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const post = (json: object) =>
  app.call('POST', '/v1/completions', { json: { model: 'tiny', max_tokens: 100, ...json } });
const textsOf = ({ choices }: Json): string[] => choices.map(({ text }: { text: string }) => text);

describe('POST /v1/completions', () => {
  it('200: continues a text, under our ID and the name of the model, and charges it', async () => {
    const { key, billed } = await createBilledKey(app);
    const asked = { model: 'default', max_tokens: 100, prompt: 'Rome [[tokens 3]]', user: 'u' };
    const { status, headers, json } = await app.call('POST', '/v1/completions', { json: asked, key });
    expect(status).toBe(200);
    expect(headers.get('x-offpeak-model')).toBe('tiny');
    expect(json).toEqual({
      id: expect.stringMatching(/^cmpl_[0-9a-f]{32}$/),
      object: 'text_completion',
      created: expect.any(Number),
      model: 'tiny',
      choices: [{ index: 0, text: 'word word word', logprobs: null, finish_reason: 'stop' }],
      usage: expect.objectContaining({ completion_tokens: 3 }),
    });
    await expect.poll(billed).toEqual({ requests: 1, outputTokens: 3 });
  });

  it.each<[string, unknown, string[]]>([
    ['texts', ['a', 'b'], ['Echo: a', 'Echo: b']],
    ['a text as token ids', [1, 22], ['Echo: 1 22']],
    ['texts as token ids', [[1], [2, 3]], ['Echo: 1', 'Echo: 2 3']],
  ])('200: %s', async (_, prompt, texts) => {
    expect(textsOf((await post({ prompt })).json)).toEqual(texts);
  });

  it('200: returns n numbered choices per prompt, with the prompt and its log probabilities', async () => {
    const { json } = await post({ prompt: ['a', 'b'], n: 2, echo: true, logprobs: 1 });
    expect(textsOf(json)).toEqual(['aEcho: a', 'aEcho: a', 'bEcho: b', 'bEcho: b']);
    expect(json.choices.map(({ index }: Json) => index)).toEqual([0, 1, 2, 3]);
    expect(json.choices[2].logprobs).toEqual({
      tokens: ['b', 'Echo', ':', ' b'],
      token_logprobs: [null, -0.5, -0.125, -0.25],
      top_logprobs: [null, { Echo: -0.5 }, { ':': -0.125 }, { ' b': -0.25 }],
      text_offset: [0, 1, 5, 6],
    });
  });

  it('200: generates 16 tokens by default', async () => {
    const { json } = await post({ prompt: '[[tokens 50]]', max_tokens: null });
    expect([json.choices[0].finish_reason, json.usage.completion_tokens]).toEqual(['length', 16]);
  });

  it('200: streams, with usage on request', async () => {
    const stream = async (more: object) => {
      const { text } = await post({ prompt: 'a', stream: true, stop: ':', ...more });
      const events = text.split('\n\n').filter((event) => event.startsWith('data: '));
      return events.map((event) => event.slice(6));
    };
    const plain = await stream({});
    expect(plain.at(-1)).toBe('[DONE]');
    const chunks = plain.slice(0, -1).map((data) => JSON.parse(data));
    expect(chunks.map(({ choices: [choice], usage }) => [choice.text, choice.finish_reason, usage])).toEqual([
      ['Echo', null, undefined],
      ['', 'stop', undefined],
    ]);
    expect(new Set(chunks.map(({ id, object, model }) => `${id} ${object} ${model}`)).size).toBe(1);
    const last = JSON.parse((await stream({ stream_options: { include_usage: true } })).at(-2)!);
    expect(last).toMatchObject({ object: 'text_completion', choices: [], usage: { completion_tokens: 1 } });
  });

  it('404: explains that a model does not support completions', async () => {
    const { status, json } = await post({ model: 'org/model:tag', prompt: 'a' });
    expect([status, json.error.code]).toEqual([404, 'model_not_found']);
    expect(json.error.message).toContain('does not serve text completions');
  });

  it('422: reports every error with its location', async () => {
    const { status, json } = await post({ prompt: ['a', 1], max_tokens: 0, n: 2, best_of: 1 });
    expect(status).toBe(422);
    expect(json.error.details.errors.map(({ param }: Json) => param)).toEqual([
      'prompt[1]',
      'best_of',
      'max_tokens',
    ]);
  });
});
