import { afterEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import { send, startFakeUpstream } from '../../support/fake-upstream.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import { ask, engineAt } from './setup.ts';

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

/** Server with only these paths. */
async function serverWith(flavor: Flavor, paths: Record<string, unknown>) {
  const fake = await startFakeUpstream((response, { path }) =>
    path in paths ? send(response, 200, paths[path]) : send(response, 404, { detail: 'Not Found' }),
  );
  const engine = engineAt(fake.url, { flavor });
  open.push(fake, engine);
  return { fake, engine };
}

const askedFor = ({ received }: FakeUpstream) => received.map(({ path }) => path);
const sent = ({ received }: FakeUpstream, at = 0) => JSON.parse(received[at]!.text) as object;

const tool = { type: 'function' as const, function: { name: 'f' } };
const request = ask({
  messages: [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
  ],
  tools: [tool],
  reasoning_effort: 'none',
  user: 'u',
}).value;
const messages = [{ role: 'system', content: 'Be brief.' }, request.messages[1]];
const noThinking = { enable_thinking: false, thinking: false };

describe('tokens are counted by', () => {
  it('vLLM, with the messages as sent', async () => {
    const { fake, engine } = await serverWith('vllm', { '/tokenize': { count: 11, max_model_len: 99 } });
    expect(await engine.countTokens(request)).toBe(11);
    expect(sent(fake)).toEqual({
      model: 'real-name',
      messages,
      tools: [tool],
      chat_template_kwargs: noThinking,
      add_generation_prompt: true,
    });
    expect(fake.received[0]!.headers['authorization']).toBe('Bearer secret-upstream-key');
  });

  it('llama-server, with the request', async () => {
    const { fake, engine } = await serverWith('llama-server', {
      '/v1/chat/completions/input_tokens': { input_tokens: 7 },
    });
    expect(await engine.countTokens(request)).toBe(7);
    expect(sent(fake)).toMatchObject({ messages, chat_template_kwargs: noThinking });
  });

  it('an older llama-server, by template and tokenizer, trying missing methods once', async () => {
    const { fake, engine } = await serverWith('llama-server', {
      '/apply-template': { prompt: '<s>hi' },
      '/tokenize': { tokens: [1, 2, 3] },
    });
    expect(await engine.countTokens(request)).toBe(3);
    expect(sent(fake, 1)).toEqual({ messages, tools: [tool], chat_template_kwargs: noThinking });
    expect(sent(fake, 2)).toEqual({ content: '<s>hi', add_special: true, parse_special: true });
    expect(await engine.countTokens(request)).toBe(3);
    expect(askedFor(fake)).toEqual([
      '/v1/chat/completions/input_tokens',
      '/apply-template',
      '/tokenize',
      '/apply-template',
      '/tokenize',
    ]);
  });

  it('SGLang, with the text alone, plus the tokens around messages', async () => {
    const { fake, engine } = await serverWith('sglang', { '/tokenize': { count: 20 } });
    expect(await engine.countTokens(request)).toBe(28);
    expect(sent(fake)).toEqual({
      model: 'real-name',
      prompt: `${JSON.stringify([tool])}Be brief.\nhi`,
      add_special_tokens: false,
    });
  });

  it('another Offpeak', async () => {
    const { engine } = await serverWith('offpeak', {
      '/v1/chat/completions/input_tokens': { input_tokens: 5 },
    });
    expect(await engine.countTokens(request)).toBe(5);
  });
});

describe('counting tokens gives up', () => {
  it.each<Flavor>(['ollama', 'openai', 'generic'])(
    'on %s, which has no counter, without asking',
    async (flavor) => {
      const { fake, engine } = await serverWith(flavor, {});
      expect(await engine.countTokens(request)).toBeUndefined();
      expect(fake.received).toEqual([]);
    },
  );

  it.each<[string, unknown]>([
    ['another number', { count: 'many' }],
    ['nothing', {}],
    ['no JSON', '<html>'],
    ['no object', '[]'],
  ])('when the answer is %s', async (_, answer) => {
    const { engine } = await serverWith('vllm', { '/tokenize': answer });
    expect(await engine.countTokens(request)).toBeUndefined();
  });

  it('for now where the server fails, for good where it lacks the method', async () => {
    const { fake, engine } = await serverWith('vllm', {});
    fake.answer = (response) => send(response, 500, {});
    expect(await engine.countTokens(request)).toBeUndefined();
    fake.answer = (response) => send(response, 200, { count: 4 });
    expect(await engine.countTokens(request)).toBe(4);
    fake.answer = (response) => send(response, 404, {});
    expect(await engine.countTokens(request)).toBeUndefined();
    expect(await engine.countTokens(request)).toBeUndefined();
    expect(fake.received).toHaveLength(3);
  });

  it('where the server is unreachable or the engine stopped', async () => {
    const { fake, engine } = await serverWith('vllm', {});
    await fake.close();
    expect(await engine.countTokens(request)).toBeUndefined();
    await engine.stop();
    expect(await engine.countTokens(request)).toBeUndefined();
  });

  it('never because all connections are busy', async () => {
    const { fake, engine } = await serverWith('vllm', { '/tokenize': { count: 6 } });
    const { answer } = fake;
    fake.answer = (response, received) =>
      received.path === '/tokenize' ? answer(response, received) : undefined;
    const stop = new AbortController();
    const busy = Array.from({ length: 12 }, () =>
      engine.generate(ask(), { signal: stop.signal, priority: 'batch' }).catch(() => 'left'),
    );
    expect(await engine.countTokens(request)).toBe(6);
    stop.abort(new Error('enough'));
    expect(new Set(await Promise.all(busy))).toEqual(new Set(['left']));
  });
});
