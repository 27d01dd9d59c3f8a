import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import { send, startFakeUpstream } from '../../support/fake-upstream.ts';
import type { Recording } from '../real/exchanges.ts';
import { ask, call, collect, engineAt, json, said } from './setup.ts';

// What real servers said (`npm run test:engines` writes it down), read as it is read from them.

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

const folder = fileURLToPath(new URL('../recordings/', import.meta.url));
const recorded = (server: string, name: string) =>
  JSON.parse(readFileSync(`${folder}${server}/${name}.json`, 'utf8')) as Recording;

/** An engine before a server that has its pages, and says `name` to every request. */
async function replaying(server: string, name = 'answer') {
  const all = readdirSync(folder + server).map((file) => recorded(server, file.replace('.json', '')));
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
    generate: async () => (await engine.generate(request, call())).body,
    stream: () => collect(engine.stream(request, call())),
  };
}

const tells: Partial<Record<Flavor, object>> = {
  'llama-server': { slots: 4, queued: null, contextLength: 512, inputs: [] },
  ollama: { slots: null, queued: null, contextLength: 512, inputs: [], thinking: false, tools: false },
};

/** Whether it took the request. */
const took = (server: string, name: string) => recorded(server, name).status === 200;

describe.each(readdirSync(folder))('what %s says', (server) => {
  it('tells what it is and what it can do', async () => {
    const { engine } = await replaying(server);
    expect(await engine.probe()).toEqual(tells[server as Flavor]);
    expect(engine.capabilities).toMatchObject({ contextLength: 512, inputs: [] });
  });

  it('is an answer', async () => {
    const { generate } = await replaying(server);
    const { choices, usage } = await generate();
    expect(choices[0]!.message.content).not.toBe('');
    expect(choices[0]!.finish_reason).toBe('length');
    expect(usage.completion_tokens).toBe(12);
  });

  it('is a stream with its end and its usage', async () => {
    const { stream } = await replaying(server, 'stream');
    const chunks = await stream();
    expect(said(chunks)).not.toBe('');
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('length');
    expect(chunks.at(-1)!.usage).toMatchObject({ completion_tokens: 8 });
  });

  it('is a call, whole and in pieces, or refuses tools as a fault of the request', async () => {
    const { generate } = await replaying(server, 'call');
    if (!took(server, 'call')) {
      await expect(generate()).rejects.toMatchObject({ code: 'request_refused', blame: { retry: false } });
      return;
    }
    const { choices } = await generate();
    expect(choices[0]!.finish_reason).toBe('tool_calls');
    const [made] = choices[0]!.message.tool_calls!;
    expect(made!.function).toEqual({ name: 'get_weather', arguments: '{"city":"Paris"}' });
    const chunks = await (await replaying(server, 'call-stream')).stream();
    const pieces = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    expect(pieces.map((piece) => piece.function?.arguments ?? '').join('')).toBe('{"city":"Paris"}');
    expect(pieces[0]).toMatchObject({ id: expect.stringMatching(/./), function: { name: 'get_weather' } });
  });

  it('ends before a stop sequence', async () => {
    const { choices } = await (await replaying(server, 'stop')).generate();
    expect(choices[0]!).toMatchObject({ finish_reason: 'stop', message: { content: 'I a' } });
  });

  it('has no alternatives that nobody asked for', async () => {
    const { choices } = await (await replaying(server, 'logprobs')).generate();
    const tokens = choices[0]!.logprobs!.content!;
    expect(tokens).toHaveLength(2);
    for (const token of tokens) expect(token.top_logprobs).toEqual([]);
  });

  // Ollama cuts what it makes embeddings of, and tells nothing of it.
  const tooLong = ['too-long', 'embeddings-too-long'].filter(
    (name) => name === 'too-long' || !took(server, name),
  );
  it.each(tooLong)('does not fit: %s', async (name) => {
    const { engine, generate } = await replaying(server, name);
    const asked = name.startsWith('embeddings')
      ? engine.embed(json({ model: 'm', input: 'x' }), call())
      : generate();
    await expect(asked).rejects.toMatchObject({
      code: 'context_length_exceeded',
      blame: { scope: 'request', retry: false },
    });
  });

  it.skipIf(took(server, 'image'))('refuses an image as a fault of the request', async () => {
    const { generate } = await replaying(server, 'image');
    await expect(generate()).rejects.toMatchObject({
      code: 'request_refused',
      message: expect.stringContaining('image input'),
      blame: { scope: 'request', retry: false },
    });
  });
});

it('llama-server tells what it has read of a prompt before the answer, and that is no beginning of it', async () => {
  const chunks = await (await replaying('llama-server', 'progress')).stream();
  expect(chunks[0]).toMatchObject({
    choices: [{ delta: { role: 'assistant' } }],
    prompt: { prompt_tokens: 14, prompt_tokens_details: { cached_tokens: 13 } },
  });
  expect(chunks.filter(({ choices }) => choices[0]?.delta.role)).toHaveLength(1);
  expect(chunks.slice(1).some(({ prompt }) => prompt)).toBe(false);
  expect(said(chunks)).not.toBe('');
});
