import { afterEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import { gaugeOf } from '../../../src/engines/upstream/probe/reports.ts';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import { completion, send, startFakeUpstream } from '../../support/fake-upstream.ts';
import { ask, call, engineAt } from './setup.ts';

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

type Pages = Record<string, unknown>;

/** Server with only these pages; a number is a status. */
async function serverWith(flavor: Flavor | 'auto', pages: Pages, more: Partial<UpstreamOptions> = {}) {
  const fake = await startFakeUpstream((response, { path }) => {
    const page = pages[path] ?? 404;
    if (typeof page === 'number') send(response, page, { error: { message: 'no', code: page } });
    else send(response, 200, page);
  });
  fake.models = (response, received) => fake.answer(response, received);
  const engine = engineAt(fake.url, { flavor, ...more });
  open.push(fake, engine);
  return { fake, engine };
}

const list = (...data: unknown[]) => ({ object: 'list', data });
const served = list({ id: 'real-name', owned_by: 'vllm', max_model_len: 4096 });
const waiting = (name: string) => `# HELP ${name} Waiting.
# TYPE ${name} gauge
${name}_by_reason{engine="0",reason="capacity"} 90.0
other_${name}{engine="0"} 80.0
${name}{engine="0",model_name="a} 7 b"} 3.0
${name}{engine="1",model_name="a} 7 b"} 2.0
rest 1
`;
const metrics = waiting('vllm:num_requests_waiting');
const props = {
  total_slots: 4,
  default_generation_settings: { n_ctx: 512 },
  modalities: { vision: true, video: true, audio: false },
};
const shown = {
  capabilities: ['completion', 'vision', 'tools'],
  parameters: 'temperature 0.7\nnum_ctx                        8192\n',
  model_info: { 'general.architecture': 'llama', 'llama.context_length': 131_072 },
};

describe('probing a server', () => {
  it.each<[string, Flavor | 'auto', Pages, object]>([
    [
      'vLLM reports its context and its queue',
      'vllm',
      { '/v1/models': served, '/metrics': metrics },
      { slots: null, queued: 5, contextLength: 4096, inputs: null },
    ],
    [
      'vLLM whose metrics are elsewhere',
      'vllm',
      { '/v1/models': served },
      { slots: null, queued: null, contextLength: 4096 },
    ],
    [
      'SGLang',
      'sglang',
      { '/v1/models': served, '/metrics': waiting('sglang:num_queue_reqs') },
      { slots: null, queued: 5, contextLength: 4096 },
    ],
    [
      'llama-server',
      'llama-server',
      { '/props': props },
      { slots: 4, queued: null, contextLength: 512, inputs: ['image'] },
    ],
    [
      'llama-server of which only the models are let through',
      'llama-server',
      { '/v1/models': list({ id: 'real-name' }) },
      { slots: null, queued: null },
    ],
    [
      'Ollama, of a model that is not loaded',
      'ollama',
      { '/api/show': shown, '/api/ps': { models: [] } },
      { queued: null, contextLength: 8192, inputs: ['image'], thinking: false, tools: true },
    ],
    [
      'Ollama, of one that is',
      'ollama',
      {
        '/api/show': { ...shown, capabilities: ['thinking'] },
        '/api/ps': { models: [{ name: 'real-name:latest', context_length: 4096 }] },
      },
      { contextLength: 4096, inputs: [], thinking: true, tools: false },
    ],
    [
      'Ollama, of one without settings of its own',
      'ollama',
      { '/api/show': { ...shown, parameters: undefined } },
      { contextLength: 131_072 },
    ],
    [
      'a gateway',
      'openrouter',
      {
        '/v1/models': list(
          { id: 'other', context_length: 1 },
          {
            id: 'real-name',
            context_length: 200_000,
            architecture: { input_modalities: ['text', 'image', 'file'] },
          },
        ),
      },
      { contextLength: 200_000, inputs: ['image', 'file'] },
    ],
    [
      'a server with only other models',
      'openai',
      { '/v1/models': list({ id: 'a' }, { id: 'b' }) },
      { slots: null },
    ],
    [
      'a server other than Offpeak, whose slots are ignored',
      'openai',
      { '/v1/models': list({ id: 'real-name', slots: 9 }) },
      { slots: null },
    ],
    ['a server with an invalid answer', 'generic', { '/v1/models': '[4]' }, { slots: null, queued: null }],
    [
      'another Offpeak, which reports its slots',
      'auto',
      { '/v1/models': list({ id: 'real-name', owned_by: 'offpeak', slots: 24, context_length: 512 }) },
      { slots: 24, queued: null, contextLength: 512 },
    ],
    [
      'a server of a detected flavor',
      'auto',
      { '/v1/models': list({ id: 'm', owned_by: 'llamacpp' }), '/props': props },
      { slots: 4 },
    ],
  ])('%s', async (_, flavor, pages, report) => {
    const { engine } = await serverWith(flavor, pages);
    expect(await engine.probe()).toMatchObject(report);
  });

  it.each<[string, Flavor, Pages, object]>([
    ['is loading', 'llama-server', { '/props': 503, '/v1/models': served }, { code: 'engine_overloaded' }],
    [
      'rejects the key',
      'llama-server',
      { '/props': 401, '/v1/models': served },
      { blame: { scope: 'account' } },
    ],
    ['rejects the key', 'vllm', { '/v1/models': 401, '/metrics': metrics }, { blame: { scope: 'account' } }],
    ['fails', 'ollama', { '/api/show': 500 }, { code: 'upstream_error' }],
    ['shows a page', 'generic', { '/v1/models': '<html>' }, { code: 'invalid_upstream_response' }],
  ])('fails if it %s: %s', async (_, flavor, pages, error) => {
    const { engine } = await serverWith(flavor, pages);
    await expect(engine.probe()).rejects.toMatchObject(error);
  });

  const others = list({ id: 'a', owned_by: 'x' }, { id: 'b', aliases: ['real-name'] });
  const vllms = list({ id: 'other', owned_by: 'vllm' });
  it.each<[Flavor | 'auto', Pages[string], boolean]>([
    ['vllm', list({ id: 'other' }), false],
    ['auto', vllms, false],
    ['offpeak', list({ id: 'a' }, { id: 'b', aliases: ['c'] }), false],
    ['offpeak', others, true],
    ['offpeak', list({ id: 'real-name', batch_only: true }), false],
    ['offpeak', { ...list({ id: 'a' }), has_more: true }, true],
    ['vllm', list(), true],
    ['vllm', 404, true],
    ['sglang', list({ id: 'other' }), true],
    ['openai', list({ id: 'other' }), true],
  ])('finds on %s, which lists %j, the model: %j', async (flavor, models, has) => {
    const { engine } = await serverWith(flavor, { '/v1/models': models });
    const code = await engine.probe().then(
      () => null,
      (error: { code: string }) => error.code,
    );
    expect(code === 'model_not_found').toBe(!has);
  });

  it('reports that Ollama lacks the model', async () => {
    const { fake, engine } = await serverWith('ollama', {});
    fake.answer = (response) => send(response, 404, { error: "model 'real-name' not found" });
    await expect(engine.probe()).rejects.toMatchObject({
      code: 'model_not_found',
      blame: { scope: 'model' },
    });
  });

  it('rejects a report that is too long', async () => {
    const { engine } = await serverWith('vllm', {
      '/v1/models': served,
      '/metrics': `${metrics}${'#\n'.repeat(2_200_000)}`,
    });
    expect(await engine.probe()).toMatchObject({ queued: null, contextLength: 4096 });
  });
});

const noTraits = { fields: [], names: {}, without: [], usage: {}, finish: {}, failures: [] };

describe('the abilities of a model', () => {
  it.each<[Partial<UpstreamOptions>, string[]]>([
    [{ flavor: 'openai' }, ['chat', 'embeddings']],
    [{ flavor: 'anthropic' }, ['chat']],
    [{ flavor: 'anthropic', serves: ['embeddings'] }, ['embeddings']],
    [
      { flavor: 'anthropic', ownTraits: { ...noTraits, paths: { embeddings: '/vectors' } } },
      ['chat', 'embeddings'],
    ],
  ])('include embeddings if its server may support them: %j', async (more, serves) => {
    const engine = engineAt('http://127.0.0.1:1/v1', { serves: undefined, ...more });
    open.push(engine);
    expect(engine.capabilities.serves).toEqual(serves);
  });

  it.each([
    [['completion'], false],
    [['completion', 'tools'], true],
  ])('include tools if its server reports them: %j', async (capabilities, tools) => {
    const { engine } = await serverWith('ollama', { '/api/show': { capabilities } });
    expect(engine.capabilities).toMatchObject({ tools: true });
    await engine.probe();
    expect(engine.capabilities).toMatchObject({ tools });
  });

  it('are those that its server reports, unless configured', async () => {
    const { engine } = await serverWith('llama-server', { '/props': props });
    expect(engine.capabilities).toMatchObject({ contextLength: null, inputs: ['image', 'audio'] });
    await engine.probe();
    expect(engine.capabilities).toMatchObject({ contextLength: 512, inputs: ['image'] });
    const configured = await serverWith(
      'llama-server',
      { '/props': props },
      { contextLength: 99, inputs: [] },
    );
    await configured.engine.probe();
    expect(configured.engine.capabilities).toMatchObject({ contextLength: 99, inputs: [] });
  });
});

describe('a gauge', () => {
  it.each<[string, number | null]>([
    ['g 4', 4],
    ['a 1\ng{x="y"} 1e1\n', 10],
    ['g{x="y"} NaN\n', null],
    ['g{x="y"} -1', null],
    ['gg 4\nxg 4', null],
    ['', null],
  ])('of %j', (page, value) => {
    expect(gaugeOf(Buffer.from(page), 'g')).toBe(value);
  });
});

describe('a request after a probe of the model', () => {
  const sent = async (flavor: Flavor, pages: Pages, request: Parameters<typeof ask>[0]) => {
    const { fake, engine } = await serverWith(flavor, {
      ...pages,
      '/v1/chat/completions': completion(),
    });
    await engine.probe();
    await engine.generate(ask(request), call());
    return JSON.parse(fake.received.at(-1)!.text) as Record<string, unknown>;
  };

  it.each<[Flavor, object, number | undefined]>([
    ['vllm', { max_tokens: 4095 }, 4095],
    ['vllm', { max_tokens: 4096 }, undefined],
    ['vllm', { max_completion_tokens: 100_000 }, undefined],
    ['sglang', { max_tokens: 4096 }, 4096],
  ])('has no limit that %s would reject: %j', async (flavor, limits, max_tokens) => {
    const text = await sent(flavor, { '/v1/models': served }, limits);
    expect([text['max_tokens'], text['max_completion_tokens']]).toEqual([max_tokens, undefined]);
  });

  it.each([
    [['thinking'], 'high'],
    [[], undefined],
    [undefined, 'high'],
  ])('has a reasoning effort only for a model that reasons: %j', async (capabilities, effort) => {
    const text = await sent('ollama', { '/api/show': { capabilities } }, { reasoning_effort: 'high' });
    expect(text['reasoning_effort']).toBe(effort);
  });
});
