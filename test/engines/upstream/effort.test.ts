import { describe, expect, it, onTestFinished } from 'vitest';
import { type Flavor, flavors } from '../../../src/core/flavor.ts';
import { complete, startFakeUpstream } from '../../support/fake-upstream.ts';
import { bodyTo, sentTo } from './sent-to.ts';
import { ask, call, engineAt } from './setup.ts';

// Reasoning effort in the fields of each provider and its models.

describe('the reasoning effort', () => {
  const off = { chat_template_kwargs: { enable_thinking: false, thinking: false } };
  const variables = (reasoning_effort: string) => ({
    reasoning_effort,
    chat_template_kwargs: { reasoning_effort },
  });
  const plain = (reasoning_effort: string) => ({ reasoning_effort });

  it.each<[Flavor, string, object]>([
    ['vllm', 'none', off],
    ['vllm', 'low', plain('low')],
    ['openai', 'low', plain('low')],
    ['generic', 'medium', plain('medium')],
    ['vllm', 'minimal', plain('minimal')],
    ['vllm', 'max', plain('max')],
    ['sglang', 'none', off],
    ['sglang', 'xhigh', plain('xhigh')],
    ['llama-server', 'none', off],
    ['llama-server', 'high', variables('high')],
    ['ollama', 'none', plain('none')],
    ['ollama', 'minimal', plain('low')],
    ['ollama', 'xhigh', plain('max')],
    ['ollama', 'max', plain('max')],
    ['openai', 'none', plain('none')],
    ['openai', 'xhigh', plain('xhigh')],
    ['gemini', 'xhigh', plain('high')],
    ['gemini', 'minimal', plain('minimal')],
    ['xai', 'minimal', plain('low')],
    ['xai', 'max', plain('high')],
    ['mistral', 'low', plain('high')],
    ['mistral', 'minimal', plain('none')],
    ['mistral', 'none', plain('none')],
    ['deepseek', 'none', { thinking: { type: 'disabled' } }],
    ['deepseek', 'minimal', plain('low')],
    ['deepseek', 'low', plain('low')],
    ['deepseek', 'medium', plain('high')],
    ['deepseek', 'xhigh', plain('high')],
    ['deepseek', 'max', plain('max')],
    ['xai', 'none', plain('low')],
    ['openrouter', 'none', plain('none')],
    ['openrouter', 'max', plain('xhigh')],
    ['ollama', 'constructor', plain('constructor')],
    ['offpeak', 'minimal', plain('minimal')],
    ['generic', 'none', plain('none')],
  ])('on %s: %s', async (flavor, effort, expected) => {
    expect(await sentTo(flavor, { reasoning_effort: effort })).toEqual(expected);
  });

  it.each(flavors.filter((flavor) => flavor !== 'anthropic'))(
    'with a budget on %s, which gets it only if it knows the field',
    async (flavor) => {
      const knows = flavor === 'llama-server' || flavor === 'offpeak';
      const thinking_budget_tokens = 512;
      expect(await sentTo(flavor, { thinking_budget_tokens })).toEqual(
        knows ? { thinking_budget_tokens } : {},
      );
    },
  );

  it('lets a client switch thinking, and set no other template variable', async () => {
    const given = { enable_thinking: true, reasoning_effort: 'low', tokenize: false, other: { x: 1 } };
    const chat_template_kwargs = { enable_thinking: true, reasoning_effort: 'low' };
    expect(await sentTo('vllm', { chat_template_kwargs: given })).toEqual({ chat_template_kwargs });
    expect(await sentTo('vllm', { reasoning_effort: 'none', chat_template_kwargs: given })).toEqual({
      chat_template_kwargs: { ...chat_template_kwargs, thinking: false },
    });
    expect(await sentTo('openai', { chat_template_kwargs: given })).toEqual({});
  });

  it.each<[Flavor, string, string, object]>([
    ['openai', 'gpt-4o', 'high', {}],
    ['openai', 'o3', 'none', plain('low')],
    ['openai', 'o4-mini', 'xhigh', plain('high')],
    ['openai', 'gpt-5-mini', 'none', plain('minimal')],
    ['openai', 'gpt-5', 'max', plain('high')],
    ['openai', 'gpt-5.1', 'minimal', plain('low')],
    ['openai', 'gpt-5.1', 'none', plain('none')],
    ['openai', 'gpt-5.2', 'max', plain('xhigh')],
    ['openai', 'gpt-5.6', 'max', plain('max')],
    ['openai', 'gpt-6', 'none', plain('low')],
    ['azure', 'o3', 'none', plain('low')],
    ['gemini', 'gemini-2.5-flash', 'none', plain('none')],
    ['gemini', 'gemini-2.5-pro', 'none', plain('minimal')],
    ['gemini', 'models/gemini-3-pro', 'none', plain('minimal')],
    ['gemini', 'gemini-3-flash', 'max', plain('high')],
    ['mistral', 'mistral-medium-3-5', 'high', plain('high')],
    ['mistral', 'mistral-small-2603', 'low', plain('high')],
    ['mistral', 'mistral-small-2506', 'high', {}],
    ['mistral', 'codestral-latest', 'none', {}],
    ['mistral', 'mistral-large-latest', 'high', {}],
    ['mistral', 'mistral-large-4-0', 'medium', plain('medium')],
    ['xai', 'grok-4.5', 'none', plain('low')],
    ['xai', 'grok-4.5', 'xhigh', plain('high')],
    ['xai', 'grok-4.6', 'max', plain('xhigh')],
    ['xai', 'grok-4.3', 'none', plain('none')],
    ['xai', 'grok-4', 'low', {}],
    ['xai', 'grok-4-1-fast-reasoning', 'low', {}],
    ['xai', 'grok-4.20-0309-reasoning', 'low', {}],
    ['xai', 'grok-4.20-multi-agent', 'low', plain('low')],
    ['xai', 'grok-4.20-0309-non-reasoning', 'low', {}],
    ['xai', 'grok-3', 'low', {}],
    ['xai', 'grok-3-mini', 'medium', plain('low')],
  ])('on %s for %s: %s', async (flavor, model, effort, expected) => {
    expect(await sentTo(flavor, { reasoning_effort: effort }, { model })).toEqual(expected);
  });

  it("keeps the client's own thinking switch where the server reads one", async () => {
    const on = { type: 'enabled', budget_tokens: 9, other: 1 };
    const thinking = { type: 'enabled', budget_tokens: 9 };
    for (const flavor of ['deepseek', 'generic', 'offpeak'] as const)
      expect(await sentTo(flavor, { thinking: on }), flavor).toEqual({ thinking });
    expect(await sentTo('deepseek', { thinking: on, reasoning_effort: 'none' })).toEqual({ thinking });
    expect(await sentTo('deepseek', { thinking: null, reasoning_effort: 'none' })).toEqual({
      thinking: { type: 'disabled' },
    });
    expect(await sentTo('openai', { thinking: on })).toEqual({});
    const reasoning = { effort: 'high', exclude: true };
    expect(await sentTo('openrouter', { reasoning })).toEqual({ reasoning });
  });

  it('prefers the configured words to those of the model', async () => {
    const ownTraits = {
      paths: {},
      fields: [],
      names: {},
      without: [],
      usage: {},
      finish: {},
      effort: { none: 'off' },
      failures: [],
    };
    expect(await sentTo('xai', { reasoning_effort: 'none' }, { model: 'grok-4', ownTraits })).toEqual(
      plain('off'),
    );
  });
});

it('omits stop sequences for reasoning models of xAI, and cuts the answer itself', async () => {
  for (const model of ['grok-4.6', 'grok-4', 'grok-3-mini', 'other'])
    expect(await sentTo('xai', { stop: ['END'] }, { model }), model).toEqual({});
  for (const model of ['grok-3', 'grok-4.20-0309-non-reasoning'])
    expect(await sentTo('xai', { stop: ['END'] }, { model }), model).toEqual({ stop: ['END'] });
  const fake = await startFakeUpstream(complete('one END two'));
  onTestFinished(() => fake.close());
  const engine = engineAt(fake.url, { flavor: 'xai' });
  onTestFinished(() => engine.stop());
  const { choices } = await engine.generate(ask({ stop: 'END' }), call());
  expect(choices[0]).toMatchObject({ message: { content: 'one ' }, finish_reason: 'stop' });
});

describe('earlier reasoning at mistral', () => {
  const thought = { role: 'assistant', content: 'yes', reasoning_content: 'r' };
  const user = { role: 'user', content: 'hi' };
  const sent = async (model: string, message: object) =>
    (await bodyTo('mistral', { messages: [user, message, user] }, { model }))['messages'];

  it('is a thinking part for reasoning models, and omitted for others', async () => {
    const part = { type: 'thinking', thinking: [{ type: 'text', text: 'r' }] };
    const content = [part, { type: 'text', text: 'yes' }];
    expect(await sent('mistral-medium-latest', thought)).toEqual([
      user,
      { role: 'assistant', content },
      user,
    ]);
    expect(await sent('mistral-large-latest', thought)).toEqual([
      user,
      { role: 'assistant', content: 'yes' },
      user,
    ]);
    const called = { id: 'abcdefgh1', type: 'function', function: { name: 'f', arguments: '{}' } };
    expect(await sent('mistral-medium-latest', { ...thought, content: null, tool_calls: [called] })).toEqual([
      user,
      { role: 'assistant', content: [part], tool_calls: [called] },
      user,
    ]);
  });
});
