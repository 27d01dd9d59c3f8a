import { describe, expect, it } from 'vitest';
import { createManualClock } from '../manual-clock.ts';
import type { ChatChunk, ChatChunks, ChatRequest } from '../../../src/wire/chat/chat.ts';
import type { EmbeddingsRequest } from '../../../src/wire/embeddings/embeddings.ts';
import type { EngineCall } from '../../../src/engines/engines.ts';
import { unavailable, permanent, ambiguous } from '../../../src/core/errors.ts';
import { createDirectedEngine } from './directed-engine.ts';

const json = <T>(value: T) => ({ value, text: JSON.stringify(value) });
const ask = (content: string, more: Partial<ChatRequest> = {}) =>
  json<ChatRequest>({ model: 'm', messages: [{ role: 'user', content }], ...more });
const call = (more: Partial<EngineCall> = {}): EngineCall => ({
  signal: new AbortController().signal,
  priority: 'interactive',
  ...more,
});
const setup = (options: { slots?: number; delayMs?: number; contextLength?: number } = {}) => {
  const clock = createManualClock();
  return { clock, engine: createDirectedEngine({ clock, ...options }) };
};
async function collect(lists: ChatChunks): Promise<ChatChunk[]> {
  const all = [];
  for await (const chunks of lists) all.push(...chunks);
  return all;
}

describe('answers', () => {
  it('echoes the last user message, the same every time', async () => {
    const { engine } = setup();
    const first = await engine.generate(ask('What is the sky?'), call());
    const second = await engine.generate(ask('What is the sky?'), call());
    expect(first.choices[0]?.message.content).toBe('Echo: What is the sky?');
    expect(first.choices[0]?.finish_reason).toBe('stop');
    expect(second.choices).toEqual(first.choices);
  });

  it('cuts at max_tokens with finish reason length', async () => {
    const { engine } = setup();
    const body = await engine.generate(ask('[[tokens 50]]', { max_tokens: 7 }), call());
    expect(body.choices[0]?.finish_reason).toBe('length');
    expect(body.usage.completion_tokens).toBe(7);
  });

  it('answers with the requested number of tokens', async () => {
    const { engine } = setup();
    const body = await engine.generate(ask('[[tokens 50]]'), call());
    expect(body.usage.completion_tokens).toBe(50);
    expect(body.usage.total_tokens).toBe(body.usage.prompt_tokens + 50);
  });

  it('stops before a stop sequence', async () => {
    const { engine } = setup();
    const body = await engine.generate(ask('[[json one END two]]', { stop: ['END'] }), call());
    expect(body.choices[0]?.message.content).toBe('one ');
  });

  it('counts a repeated prefix as cached', async () => {
    const { engine } = setup();
    const system = { role: 'system' as const, content: 'Be brief and exact in all you say. '.repeat(20) };
    const about = (content: string) =>
      json<ChatRequest>({ model: 'm', messages: [system, { role: 'user', content }] });
    const first = await engine.generate(about('one'), call());
    const second = await engine.generate(about('two'), call());
    expect(first.usage.prompt_tokens_details.cached_tokens).toBe(0);
    const cached = second.usage.prompt_tokens_details.cached_tokens;
    expect(cached).toBeGreaterThan(100);
    expect(cached).toBeLessThan(second.usage.prompt_tokens);
    expect(await engine.countTokens(about('two').value)).toBe(second.usage.prompt_tokens);
  });

  it('calls a forced tool with valid arguments', async () => {
    const { engine } = setup();
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string', minLength: 2 } },
      required: ['city'],
    };
    const request = ask('weather', {
      tools: [
        { type: 'function', function: { name: 'time' } },
        { type: 'function', function: { name: 'weather', parameters } },
      ],
      tool_choice: { type: 'function', function: { name: 'weather' } },
    });
    const body = await engine.generate(request, call());
    const [made] = body.choices[0]?.message.tool_calls ?? [];
    expect(body.choices[0]?.finish_reason).toBe('tool_calls');
    expect(made?.function.name).toBe('weather');
    expect(JSON.parse(made?.function.arguments ?? '').city).toHaveLength(2);
  });

  it('misses a schema once with [[bad-schema 1]], then meets it', async () => {
    const { engine } = setup();
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 3 } }, required: ['n'] };
    const request = ask('[[bad-schema 1]] go', {
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    });
    const first = await engine.generate(request, call());
    const second = await engine.generate(request, call());
    expect(() => JSON.parse(first.choices[0]?.message.content ?? '')).toThrow();
    expect(JSON.parse(second.choices[0]?.message.content ?? '')).toEqual({ n: 3 });
  });

  it('embeds to unit vectors that differ by text alone', async () => {
    const { engine } = setup();
    const request = json<EmbeddingsRequest>({ model: 'm', input: ['a', 'b', 'a'], dimensions: 16 });
    const { vectors, promptTokens } = await engine.direct('embeddings', request, call());
    expect(vectors.map((v) => v.length)).toEqual([16, 16, 16]);
    expect(vectors[0]).toEqual(vectors[2]);
    expect(vectors[0]).not.toEqual(vectors[1]);
    expect(Math.hypot(...(vectors[0] ?? []))).toBeCloseTo(1);
    expect(promptTokens).toBe(3);
  });

  it('rejects a prompt above its context', async () => {
    const { engine } = setup({ contextLength: 10 });
    const refused = engine.generate(ask('word '.repeat(20)), call());
    await expect(refused).rejects.toMatchObject({ code: 'context_length_exceeded' });
  });
});

describe('failures', () => {
  it.each([
    ['500', 'upstream_error', ambiguous],
    ['400', 'request_refused', permanent],
    ['404', 'upstream_error', ambiguous],
    ['409', 'upstream_error', permanent],
    ['401', 'upstream_error', { scope: 'account', certain: true }],
    ['429', 'engine_overloaded', unavailable],
    ['timeout', 'upstream_timeout', ambiguous],
    ['unreachable', 'upstream_unreachable', unavailable],
    ['invalid', 'invalid_upstream_response', ambiguous],
  ])('[[fail %s]] is %s, of %j', async (how, code, blame) => {
    const { engine } = setup();
    await expect(engine.generate(ask(`[[fail ${how}]]`), call())).rejects.toMatchObject({ code, blame });
    expect(engine.stats().running).toBe(0);
  });

  it('fails only the first times with a number', async () => {
    const { engine } = setup();
    const request = ask('[[fail 500 2]] hello');
    await expect(engine.generate(request, call())).rejects.toThrow();
    await expect(engine.generate(request, call())).rejects.toThrow();
    const third = await engine.generate(request, call());
    expect(third.choices[0]?.message.content).toBe('Echo: hello');
  });
});

describe('time and slots', () => {
  it('answers after the delay', async () => {
    const { clock, engine } = setup({ delayMs: 50 });
    let done = false;
    const answer = engine.generate(ask('hi'), call()).then(() => (done = true));
    await clock.advance(49);
    expect(done).toBe(false);
    await clock.advance(1);
    await answer;
  });

  it('queues above its slots', async () => {
    const { clock, engine } = setup({ slots: 1, delayMs: 10 });
    const order: string[] = [];
    const go = (name: string) => engine.generate(ask(name), call()).then(() => order.push(name));
    const all = [go('first'), go('second')];
    expect(engine.stats()).toMatchObject({ running: 1, waiting: 1 });
    await clock.advance(20);
    await Promise.all(all);
    expect(order).toEqual(['first', 'second']);
    expect(engine.stats()).toMatchObject({ calls: 2, peak: 1, running: 0 });
  });

  it('runs interactive requests before batches', async () => {
    const { clock, engine } = setup({ slots: 1, delayMs: 10 });
    const order: string[] = [];
    const go = (name: string, priority: EngineCall['priority']) =>
      engine.generate(ask(name), call({ priority })).then(() => order.push(name));
    const lines = ['b1', 'b2', 'b3', 'b4'].map((name) => go(name, 'batch'));
    const all = [...lines, go('i1', 'interactive'), go('i2', 'interactive')];
    await clock.advance(60);
    await Promise.all(all);
    expect(order).toEqual(['b1', 'i1', 'i2', 'b2', 'b3', 'b4']);
  });

  it('rejects waiting requests at once when stopped, also while a stream is not read', async () => {
    const { engine } = setup({ slots: 1 });
    const stream = engine.stream(ask('hi'), call())[Symbol.asyncIterator]();
    await stream.next();
    const refused: unknown[] = [];
    engine.generate(ask('x'), call()).catch((error: unknown) => refused.push(error));
    await engine.stop();
    await new Promise(setImmediate);
    expect(refused).toMatchObject([{ code: 'shutting_down' }]);
    await stream.return!();
    expect(engine.stats()).toMatchObject({ running: 0, waiting: 0 });
  });

  it('ends at once when aborted, running, hanging or queued, and frees its slot', async () => {
    const { clock, engine } = setup({ slots: 1, delayMs: 10 });
    const [running, queued] = [new AbortController(), new AbortController()];
    const first = engine.generate(ask('[[hang]]'), call({ signal: running.signal }));
    const second = engine.generate(ask('x'), call({ signal: queued.signal }));
    queued.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    running.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    expect(engine.stats()).toMatchObject({ running: 0, waiting: 0 });
    expect(clock.pending).toBe(0);
  });

  it('rejects all requests when stopped, and works again when started', async () => {
    const { engine } = setup({ slots: 1 });
    const both = [engine.generate(ask('[[hang]]'), call()), engine.generate(ask('[[hang]]'), call())];
    await engine.stop();
    await engine.stop();
    for (const one of both) await expect(one).rejects.toMatchObject({ code: 'shutting_down' });
    await engine.start();
    await expect(engine.generate(ask('hi'), call())).resolves.toBeDefined();
  });
});

describe('streams', () => {
  it('begins with the role, ends with finish reason and usage, and has the text of generate', async () => {
    const { engine } = setup();
    const chunks = await collect(engine.stream(ask('Tell me about the sea and the sky'), call()));
    expect(chunks.length).toBeGreaterThan(4);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } });
    const said = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    expect(said).toBe('Echo: Tell me about the sea and the sky');
  });

  it('streams the arguments of a tool call in pieces', async () => {
    const { engine } = setup();
    const tools = [{ type: 'function' as const, function: { name: 'f' } }];
    const chunks = await collect(
      engine.stream(ask('[[tool f {"city": "Paris", "days": 3}]]', { tools }), call()),
    );
    const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    expect(deltas[0]).toMatchObject({ id: expect.any(String), function: { name: 'f', arguments: '' } });
    expect(deltas.map((delta) => delta.function?.arguments).join('')).toBe('{"city": "Paris", "days": 3}');
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls');
  });

  it('fails in the middle with [[cut]] and frees its slot', async () => {
    const { engine } = setup();
    const seen: ChatChunk[] = [];
    const read = async () => {
      for await (const chunks of engine.stream(ask('[[cut 2]] hello'), call())) seen.push(...chunks);
    };
    await expect(read()).rejects.toMatchObject({ code: 'invalid_upstream_response' });
    expect(seen).toHaveLength(2);
    expect(engine.stats().running).toBe(0);
  });
});
