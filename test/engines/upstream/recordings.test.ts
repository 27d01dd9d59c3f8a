import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import type { CompletionAbility } from '../../../src/engines/upstream/flavors/traits.ts';
import { flavorTraits } from '../../../src/engines/upstream/flavors/flavors.ts';
import { send, startFakeUpstream } from '../../support/fake-upstream.ts';
import type { Recording } from '../real/exchanges.ts';
import { ask, call, collect, engineAt, json, textOf } from './setup.ts';

// Recorded answers of real servers (written by `npm run test:engines`), read like live ones.

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

const folder = fileURLToPath(new URL('../recordings/', import.meta.url));
const recorded = (server: string, name: string) =>
  JSON.parse(readFileSync(`${folder}/${server}/${name}.json`, 'utf8')) as Recording;

/** Engine in front of a server with the recorded pages, which answers every request with `name`. */
async function replaying(server: string, name = 'answer') {
  const all = readdirSync(`${folder}/${server}`).map((file) => recorded(server, file.replace('.json', '')));
  const chosen = recorded(server, name);
  const fake = await startFakeUpstream((response, { path }) => {
    const page = path === chosen.path ? chosen : all.find((each) => each.path === path);
    if (page) send(response, page.status, page.answer, { 'content-type': page.type });
    else send(response, 404, {});
  });
  fake.models = (response, received) => fake.answer(response, received);
  const engine = engineAt(fake.url, { flavor: 'auto', model: 'offpeak-tiny', slots: null });
  open.push(fake, engine);
  await engine.start();
  await engine.probe();
  const request = ask(chosen.body);
  return {
    engine,
    generate: async () => await engine.generate(request, call()),
    stream: () => collect(engine.stream(request, call())),
  };
}

const reports: Partial<Record<Flavor, object>> = {
  'llama-server': { slots: 4, queued: null, contextLength: 512, inputs: [], hasMessages: true },
  ollama: { slots: null, queued: null, contextLength: 512, inputs: [], thinking: false, tools: false },
  vllm: { slots: null, queued: 0, contextLength: 512, inputs: null },
};

/** True if the server accepted the request. */
const took = (server: string, name: string) => recorded(server, name).status === 200;

describe.each(readdirSync(folder))('the recordings of %s', (server) => {
  it('report the flavor and the abilities', async () => {
    const { engine } = await replaying(server);
    expect(await engine.probe()).toEqual(reports[server as Flavor]);
    expect(engine.capabilities).toMatchObject({ contextLength: 512 });
  });

  it('hold an answer', async () => {
    const { generate } = await replaying(server);
    const { choices, usage } = await generate();
    expect(choices[0]!.message.content).not.toBe('');
    expect(choices[0]!.finish_reason).toBe('length');
    expect(usage.completion_tokens).toBe(12);
  });

  it('hold a stream with its end and its usage', async () => {
    const { stream } = await replaying(server, 'stream');
    const chunks = await stream();
    expect(textOf(chunks)).not.toBe('');
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('length');
    expect(chunks.at(-1)!.usage).toMatchObject({ completion_tokens: 8 });
  });

  it('hold a call, whole and streamed, or a refusal of tools', async () => {
    const isStrict = flavorTraits[server as Flavor].forcedTool === 'strict';
    const { generate } = await replaying(server, isStrict ? 'call-strict' : 'call');
    if (!took(server, 'call')) {
      await expect(generate()).rejects.toMatchObject({ code: 'request_refused', blame: { retry: false } });
      return;
    }
    const { choices } = await generate();
    expect(choices[0]!.finish_reason).toBe('tool_calls');
    const [made] = choices[0]!.message.tool_calls!;
    expect(made!.function.name).toBe('get_weather');
    expect(JSON.parse(made!.function.arguments)).toEqual({ city: 'Paris' });
    const chunks = await (await replaying(server, 'call-stream')).stream();
    const pieces = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    const whole = pieces.map((piece) => piece.function?.arguments ?? '').join('');
    expect(whole).toBe(isStrict ? '1442' : '{"city":"Paris"}');
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('tool_calls');
    expect(pieces[0]).toMatchObject({ id: expect.stringMatching(/./), function: { name: 'get_weather' } });
  });

  it('end before a stop sequence', async () => {
    const { choices } = await (await replaying(server, 'stop')).generate();
    expect(choices[0]!).toMatchObject({ finish_reason: 'stop', message: { content: 'I a' } });
  });

  it('have only requested alternatives', async () => {
    const { choices } = await (await replaying(server, 'logprobs')).generate();
    const tokens = choices[0]!.logprobs!.content!;
    expect(tokens).toHaveLength(2);
    for (const token of tokens) expect(token.top_logprobs).toEqual([]);
  });

  // Ollama silently truncates embedding inputs.
  const tooLong = ['too-long', 'embeddings-too-long'].filter(
    (name) => name === 'too-long' || recorded(server, name).status === 500,
  );
  it.each(tooLong)('report a prompt that does not fit: %s', async (name) => {
    const { engine, generate } = await replaying(server, name);
    const asked = name.startsWith('embeddings')
      ? engine.direct('embeddings', json({ model: 'm', input: 'x' }), call())
      : generate();
    await expect(asked).rejects.toMatchObject({
      code: 'context_length_exceeded',
      blame: { scope: 'request', retry: false },
    });
  });

  it.skipIf(recorded(server, 'embeddings-too-long').status !== 404)(
    'reports that the model has no embeddings, not that the server is unavailable',
    async () => {
      const { engine } = await replaying(server, 'embeddings-too-long');
      await expect(
        engine.direct('embeddings', json({ model: 'm', input: 'x' }), call()),
      ).rejects.toMatchObject({
        code: 'model_not_found',
        blame: { scope: 'request', retry: false },
      });
    },
  );

  it.skipIf(took(server, 'image'))('report an image as a fault of the request', async () => {
    const { generate } = await replaying(server, 'image');
    await expect(generate()).rejects.toMatchObject({
      code: 'request_refused',
      message: expect.stringMatching(/image input|multimodal/),
      blame: { scope: 'request', retry: false },
    });
  });
});

interface RecordedAnswer {
  choices: { text: string; message: { tool_calls?: { function: { name: string; arguments: string } }[] } }[];
  usage: { prompt_tokens: number; completion_tokens: number };
}

/** Recorded answer to `name`, or null if the server refused. */
const answerOf = (server: string, name: string) =>
  took(server, name) ? (JSON.parse(recorded(server, name).answer) as RecordedAnswer) : null;

/** Recordings that prove an ability with raw prompts; the prompt has 14 tokens, and each answer 3. */
const proofs: Record<CompletionAbility, [name: string, shows: (answer: RecordedAnswer) => boolean]> = {
  raw: ['text', ({ usage }) => usage.prompt_tokens === 14],
  tokens: ['tokens', ({ usage }) => usage.prompt_tokens === 2],
  lists: ['lists', ({ choices, usage }) => choices.length === 2 && usage.completion_tokens === 6],
  n: ['n', ({ choices, usage }) => choices.length === 2 && usage.completion_tokens === 6],
  best_of: ['best-of', ({ usage }) => usage.completion_tokens === 6],
  echo: ['echo', ({ choices }) => choices[0]!.text.startsWith('<|im_start|>user')],
  suffix: ['suffix', ({ usage }) => usage.prompt_tokens !== 14],
};

const madeOf = (server: string, name: string) =>
  answerOf(server, name)?.choices[0]!.message.tool_calls?.[0]?.function;
const argumentsOf = (server: string, name: string) => madeOf(server, name)?.arguments ?? '';

const asked = (server: string) => existsSync(`${folder}/${server}/n.json`);
describe.each(readdirSync(folder).filter(asked) as Flavor[])('the traits of %s', (server) => {
  const traits = flavorTraits[server];

  it('match its abilities with raw prompts', () => {
    const shown = Object.entries(proofs).filter(([, [name, shows]]) => {
      const answer = answerOf(server, `completion-${name}`);
      return answer && shows(answer);
    });
    expect(traits.completions!.toSorted()).toEqual(shown.map(([ability]) => ability).toSorted());
  });

  it('match its usage of several choices', () => {
    const { choices, usage } = answerOf(server, 'n')!;
    const isAlways = usage.completion_tokens !== 3 * choices.length && 'always';
    expect(traits.splitChoices).toBe(isAlways || (took(server, 'n-greedy') ? undefined : 'greedy'));
  });

  it('match its forcing of calls', () => {
    const named = madeOf(server, 'call-named')?.name === 'get_time';
    const required = madeOf(server, 'call')?.name === 'get_weather';
    const isNative = argumentsOf(server, 'call').startsWith('{') ? 'native' : 'strict';
    expect(traits.forcedTool).toBe(named ? isNative : required ? 'filter' : 'none');
    if (traits.forcedTool === 'strict')
      expect(JSON.parse(argumentsOf(server, 'call-strict'))).toEqual({ city: 'Paris' });
  });

  it('match its handling of long prompts', () => {
    expect(Boolean(traits.truncatesPrompts)).toBe(took(server, 'too-long'));
    expect(Boolean(traits.openLimit)).toBe(!took(server, 'many-tokens'));
  });
});

it('llama-server reports the progress of a prompt, which is not part of the answer', async () => {
  const chunks = await (await replaying('llama-server', 'progress')).stream();
  expect(chunks[0]).toMatchObject({
    choices: [{ delta: { role: 'assistant' } }],
    prompt: { prompt_tokens: 14, prompt_tokens_details: { cached_tokens: 13 } },
  });
  expect(chunks.filter(({ choices }) => choices[0]?.delta.role)).toHaveLength(1);
  expect(chunks.slice(1).some(({ prompt }) => prompt)).toBe(false);
  expect(textOf(chunks)).not.toBe('');
});
