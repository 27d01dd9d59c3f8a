import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import type { Engine, NativeEvent } from '../../../src/engines/engines.ts';
import type {
  CompletionChoice,
  CompletionPiece,
  CompletionsRequest,
} from '../../../src/wire/completions/completions.ts';
import { send, startFakeUpstream } from '../../support/fake-upstream.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import { call, engineAt, json } from './setup.ts';

let fake: FakeUpstream;
let engine: Engine;

async function start(flavor: Flavor, more: Parameters<typeof engineAt>[1] = {}) {
  await engine?.stop();
  engine = engineAt(fake.url, { flavor, ...more });
  await engine.start();
}

beforeEach(async () => {
  fake = await startFakeUpstream();
  await start('vllm');
});
afterEach(async () => {
  await engine.stop();
  await fake.close();
});

type Body = CompletionsRequest & Record<string, unknown>;
const bodies = () => fake.received.map(({ text }) => JSON.parse(text) as Body);
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const choice = (index: number, text: string, more: object = {}) => ({
  index,
  text,
  finish_reason: 'stop',
  ...more,
});
const answer = (choices: object[], more: object = {}) => ({
  object: 'text_completion',
  choices,
  usage,
  ...more,
});

/** Answers with as many choices as a server with full support makes. */
function echoing(response: ServerResponse, { text }: { text: string }) {
  const { prompt, n } = JSON.parse(text) as Body;
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt : [prompt];
  const choices = prompts.flatMap((each) => Array.from({ length: n ?? 1 }, () => `> ${String(each)}`));
  send(response, 200, answer(choices.map((said, index) => choice(index, said))));
}

const ask = async (request: Partial<Body>) => {
  const body = json({ model: 'public', prompt: 'a', ...request });
  const { fields, usage: told } = await engine.native!.generate('completions', body, call());
  return { choices: fields['choices'] as CompletionChoice[], usage: told };
};
const textsOf = ({ choices }: { choices: CompletionChoice[] }) =>
  choices.map(({ index, text }) => `${index} ${text}`);

describe('the request to a server', () => {
  it("is the client's, with the server's model name, a limit and only permitted members", async () => {
    fake.answer = echoing;
    const request = {
      top_k: 3,
      repeat_penalty: 1.1,
      user: 'u',
      seed: 1,
      chat_template_kwargs: {},
      best_of: 1,
    };
    await ask({ prompt: [[1, 2], [3]], ...request });
    expect(fake.received[0]!.path).toBe('/v1/completions');
    expect(bodies()).toEqual([
      {
        model: 'real-name',
        max_tokens: 16,
        prompt: [[1, 2], [3]],
        top_k: 3,
        repetition_penalty: 1.1,
        seed: 1,
      },
    ]);
  });

  it('names its limit max_tokens, whatever chats call it at that server', async () => {
    await start('openai');
    fake.answer = echoing;
    await ask({ max_tokens: 4 });
    expect(bodies()).toEqual([{ model: 'real-name', prompt: 'a', max_tokens: 4 }]);
  });

  it('is split by prompts and choices for a server without lists and n', async () => {
    await start('llama-server');
    fake.answer = echoing;
    const answered = await ask({ prompt: ['a', 'b'], n: 2, seed: 5, max_tokens: 4, echo: true });
    expect(bodies().map(({ prompt, n, seed, echo }) => [prompt, n, seed, echo])).toEqual([
      ['a', undefined, 5, undefined],
      ['a', undefined, 6, undefined],
      ['b', undefined, 5, undefined],
      ['b', undefined, 6, undefined],
    ]);
    expect(textsOf(answered)).toEqual(['0 a> a', '1 a> a', '2 b> b', '3 b> b']);
    // Each prompt once.
    expect(answered.usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 8, total_tokens: 14 });
  });

  it('is repeated for missing choices', async () => {
    fake.answer = (response) => send(response, 200, answer([choice(0, 'x')]));
    expect(textsOf(await ask({ n: 3 }))).toEqual(['0 x', '1 x', '2 x']);
    expect(bodies().map(({ n }) => n)).toEqual([3, undefined, undefined]);
  });

  it.each<[Flavor, Partial<Body>, string, string]>([
    ['vllm', { suffix: 'z' }, 'suffix', 'does not support a suffix'],
    ['vllm', { best_of: 2 }, 'best_of', 'more answers than it returns'],
    ['ollama', { prompt: [1, 2] }, 'prompt', 'not token ids'],
    ['ollama', {}, 'prompt', 'applies its chat template'],
    ['llama-server', { echo: true, logprobs: 1 }, 'echo', 'no log probabilities of prompts'],
    ['llama-server', { echo: true, prompt: [1] }, 'echo', 'the text of token ids'],
  ])('%s: %j is rejected before a request is sent', async (flavor, request, param, words) => {
    await start(flavor);
    await expect(ask(request)).rejects.toMatchObject({ code: 'validation_error', status: 422, param });
    await expect(ask(request)).rejects.toThrow(words);
    expect(fake.received).toEqual([]);
  });

  it('rejects the answer of a server that ignores echo', async () => {
    fake.answer = (response) => send(response, 200, answer([choice(0, 'x')]));
    await expect(ask({ echo: true, logprobs: 1 })).rejects.toMatchObject({ code: 'request_refused' });
  });
});

describe('the answer', () => {
  const told = { token: 'x', logprob: -1, top_logprobs: [{ token: 'y', logprob: -0.5 }] };
  it.each<[string, object]>([
    ['completions', { tokens: ['x'], token_logprobs: [-1], top_logprobs: [{ y: -0.5 }], text_offset: [-1] }],
    ['chats', { content: [told] }],
  ])('log probabilities in the form of %s', async (_, logprobs) => {
    fake.answer = (response) => send(response, 200, answer([choice(0, 'x', { logprobs, stop_reason: 'E' })]));
    expect((await ask({ logprobs: 1 })).choices).toEqual([
      {
        index: 0,
        text: 'x',
        finish_reason: 'stop',
        stop_reason: 'E',
        logprobs: {
          tokens: ['x'],
          token_logprobs: [-1],
          top_logprobs: [{ y: -0.5, x: -1 }],
          text_offset: [0],
        },
      },
    ]);
  });

  it('has missing usage estimated, from token ids exactly', async () => {
    fake.answer = (response) => send(response, 200, answer([choice(0, '12345678')], { usage: null }));
    expect((await ask({ prompt: [[1, 2, 3]] })).usage).toMatchObject({
      prompt_tokens: 3,
      completion_tokens: 2,
    });
  });

  it.each<[string, object]>([
    ['no choices', { usage }],
    ['a chat', answer([{ index: 0, message: { content: 'x' } }])],
    ['one too many', answer([choice(0, 'a'), choice(1, 'b')])],
    ['an aborted answer', answer([choice(0, 'a', { finish_reason: 'abort' })])],
  ])('%s is rejected as an answer', async (_, body) => {
    fake.answer = (response) => send(response, 200, body);
    await expect(ask({})).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });
});

describe('a stream', () => {
  const chunks = (...list: object[]) => list.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  const streaming = (text: string) => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(text);
  };
  async function stream(request: Partial<Body>) {
    const events: NativeEvent[] = [];
    const body = json({ model: 'public', prompt: 'a', stream: true, ...request });
    for await (const list of engine.native!.stream('completions', body, call())) events.push(...list);
    return {
      pieces: events.flatMap(({ fields }) => (fields?.['choices'] ?? []) as CompletionPiece[]),
      usage: events.at(-1)?.usage,
    };
  }
  const whole = chunks(
    { choices: [{ index: 0, text: 'x' }] },
    { choices: [{ index: 0, text: 'y', finish_reason: 'length' }] },
    { choices: [], usage },
  );

  it('without choices reports a filtered prompt, like an answer without any', async () => {
    const counted = { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 };
    const filtered = [0, 1].map((index) => ({ index, text: '', finish_reason: 'content_filter' }));
    fake.answer = (response) =>
      send(response, 200, { object: 'text_completion', choices: [], usage: counted });
    const answered = await ask({ prompt: ['a', 'b'], echo: true, logprobs: 1 });
    expect(answered).toMatchObject({ choices: filtered, usage: { prompt_tokens: 7, completion_tokens: 0 } });
    expect(bodies()).toHaveLength(1);
    fake.answer = streaming(`${chunks({ choices: [], usage: counted })}data: [DONE]\n\n`);
    expect(await stream({ prompt: ['a', 'b'] })).toMatchObject({
      pieces: filtered,
      usage: { prompt_tokens: 7, completion_tokens: 0 },
    });
  });

  it('begins with its prompt if requested, and ends with the total usage', async () => {
    await start('llama-server');
    fake.answer = streaming(`${whole}data: [DONE]\n\n`);
    const { pieces, usage: sum } = await stream({ prompt: ['a', 'b'], echo: true });
    expect(pieces.map(({ index, text, finish_reason: finish }) => [index, text, finish])).toEqual([
      [0, 'ax', null],
      [0, 'y', 'length'],
      [1, 'bx', null],
      [1, 'y', 'length'],
    ]);
    expect(sum).toMatchObject({ prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 });
    expect(bodies()[0]).toEqual({
      model: 'real-name',
      prompt: 'a',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 16,
    });
  });

  it('counts only the text after an echoed prompt', async () => {
    const said: (string | undefined)[] = [];
    const request = json({ model: 'public', prompt: 'abcd', echo: true, logprobs: 1 });
    const logprobs = { tokens: ['abcd'], token_logprobs: [null], top_logprobs: [null] };
    fake.answer = streaming(
      `${chunks({ choices: [{ index: 0, text: 'abcd', logprobs }] }, { choices: [{ index: 0, text: 'ef', finish_reason: 'length' }] })}data: [DONE]\n\n`,
    );
    for await (const events of engine.native!.stream('completions', request, call()))
      for (const event of events) if (event.fields) said.push(event.delta);
    expect(said).toEqual(['', 'ef']);
  });

  it('with too many choices fails before one of them appears as the next', async () => {
    await start('llama-server');
    const two = [0, 1].map((index) => ({ choices: [{ index, text: `${index}` }] }));
    fake.answer = streaming(`${chunks(...two)}data: [DONE]\n\n`);
    const told: CompletionPiece[] = [];
    const reading = (async () => {
      const request = json({ model: 'public', prompt: ['a', 'b'], stream: true });
      for await (const events of engine.native!.stream('completions', request, call()))
        told.push(...events.flatMap(({ fields }) => (fields?.['choices'] ?? []) as CompletionPiece[]));
    })();
    await expect(reading).rejects.toMatchObject({ code: 'invalid_upstream_response' });
    expect(told.every(({ index, text }) => index === 0 && text === '0')).toBe(true);
  });

  it('that just stops is an error', async () => {
    fake.answer = streaming(chunks({ choices: [{ index: 0, text: 'x' }] }));
    await expect(stream({})).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });
});

it('are supported by flavor or configuration', async () => {
  const speaks = async (flavor: Flavor, completions?: 'native' | 'no') => {
    await start(flavor, completions ? { capabilities: { formats: { completions } } } : {});
    return engine.capabilities.formats?.completions;
  };
  expect([await speaks('anthropic'), await speaks('gemini'), await speaks('generic')]).toEqual([
    'no',
    'no',
    'native',
  ]);
  expect([await speaks('xai', 'native'), await speaks('vllm', 'no')]).toEqual(['native', 'no']);
});
