import { unavailable, permanent, ambiguous } from '../../../src/core/errors.ts';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engines/engines.ts';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import {
  complete,
  completion,
  frame,
  send,
  startFakeUpstream,
  streamed,
  usageFrame,
} from '../../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../../support/fake-upstream.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import type { Fault } from '../../support/fault-proxy.ts';
import { freePort } from '../../support/free-port.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/until.ts';
import { ask, call, collect, createLogBook, engineAt, json, textOf } from './setup.ts';

/** A connection can be reused from the next turn of the event loop on. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

async function upstream(answer?: Responder, options: Partial<UpstreamOptions> = {}) {
  const fake = await startFakeUpstream(answer);
  const engine = engineAt(fake.url, options);
  open.push(fake, engine);
  return { fake, engine };
}

async function damaged(
  fault: Fault,
  bytes: number,
  answer: Responder,
  options: Partial<UpstreamOptions> = {},
) {
  const fake = await startFakeUpstream(answer);
  const proxy = await startFaultProxy(fake.port);
  Object.assign(proxy, { fault, bytes });
  const engine = engineAt(proxy.url, options);
  open.push(fake, proxy, engine);
  return { fake, proxy, engine };
}

const status = (code: number, body: unknown = { error: { message: 'because' } }, headers = {}): Responder => {
  return (response) => send(response, code, body, headers);
};
const generate = (engine: Engine) => engine.generate(ask(), call());

describe('a server that only embeds with the model', () => {
  const embeds: Responder = (response) => send(response, 200, { data: [{ index: 0, embedding: [1, 0] }] });
  const absent = status(404, { detail: 'Not Found' });
  const words = 'This server does not support completions. Start it without `--embeddings`';
  const lacking = { code: 'model_not_found', status: 404, param: 'model', blame: permanent };
  const replicas = { code: 'upstream_error', blame: ambiguous };
  /** Answers embeddings, and the other calls with these answers in turn; the last one repeats. */
  const embedding = (...answers: Responder[]): Responder => {
    const next = answers.values();
    const last = answers.at(-1)!;
    return (response, request) =>
      (request.path.endsWith('/embeddings') ? embeds : (next.next().value ?? last))(response, request);
  };
  const paths = ({ received }: FakeUpstream) => received.map(({ path }) => path.split('/').at(-1));

  it.each([
    [404, { detail: 'Not Found' }, '(status 404).'],
    [501, { error: { message: words } }, `(status 501): ${words}`],
  ])('gives no answers: %i concerns the requested model, not the server', async (code, body, detail) => {
    const { engine } = await upstream(embedding(status(code, body)));
    const error = {
      ...lacking,
      message: expect.stringContaining(`only embeddings, not text generation ${detail}`),
    };
    await expect(generate(engine)).rejects.toMatchObject(error);
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject(error);
  });

  it('differs from one that is being rolled out, which does not embed either', async () => {
    const { engine } = await upstream(absent);
    await expect(generate(engine)).rejects.toMatchObject(replicas);
  });

  it('differs from one that came up between the refusal and the probe, which is retried', async () => {
    const { engine } = await upstream(embedding(absent, complete('Up.')));
    expect((await generate(engine)).choices[0]!.message.content).toBe('Up.');
    const { engine: other } = await upstream(embedding(absent, complete('Up.')));
    expect(textOf(await collect(other.stream(ask(), call())))).toBe('Up.');
    const { engine: failing } = await upstream(embedding(absent, status(503)));
    await expect(generate(failing)).rejects.toMatchObject({ code: 'engine_overloaded', blame: unavailable });
  });

  it('differs from one that has answered before, which is not probed', async () => {
    const { engine, fake } = await upstream(embedding(complete(), absent));
    await generate(engine);
    await expect(generate(engine)).rejects.toMatchObject(replicas);
    expect(paths(fake)).toEqual(['completions', 'completions']);
  });

  it('differs from one that lacks another path', async () => {
    const { engine, fake } = await upstream(embedding(absent));
    const body = json({ model: 'public', prompt: 'a', messages: [], input: 'a', max_tokens: 1 });
    for (const op of ['completions', 'responses', 'messages'] as const)
      await expect(engine.native!.generate(op, body, call())).rejects.toMatchObject(replicas);
    expect(paths(fake)).toEqual(['completions', 'responses', 'messages']);
  });

  it('is probed for embeddings once in 30 s, however many calls it refuses', async () => {
    const clock = createManualClock();
    const { engine, fake } = await upstream(embedding(absent), { clock });
    const probes = () => paths(fake).filter((path) => path === 'embeddings').length;
    const all = await Promise.allSettled([generate(engine), generate(engine), generate(engine)]);
    for (const each of all) expect(each).toMatchObject({ status: 'rejected', reason: lacking });
    await clock.advance(29_999);
    await expect(generate(engine)).rejects.toMatchObject(lacking);
    expect(probes()).toBe(1);
    await clock.advance(1);
    await expect(generate(engine)).rejects.toMatchObject(lacking);
    expect(probes()).toBe(2);
  });

  it('is not waited for by aborted calls', async () => {
    const clock = createManualClock();
    const { engine, fake } = await upstream(
      (response, request) => {
        if (!request.path.endsWith('/embeddings')) absent(response, request);
      },
      { clock },
    );
    const client = new AbortController();
    const gone = engine.generate(ask(), call(client.signal));
    await until('the probe is sent', () => paths(fake).includes('embeddings'));
    client.abort(new Error('the client left'));
    await expect(gone).rejects.toThrow('the client left');
  });
});

describe('statuses', () => {
  it.each([
    [{ 'retry-after': '2' }, 2],
    [{ 'retry-after': '86400' }, 86_400],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{}, undefined],
  ])('F18: 429 with %j is an overload, to be retried after %j s', async (headers, retryAfter) => {
    const clock = createManualClock(Date.UTC(2026, 0, 1));
    const { engine } = await upstream(status(429, {}, headers), { clock });
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'engine_overloaded',
      status: 503,
      retryAfter,
      blame: { ...unavailable, scope: 'model' },
    });
  });

  it.each([
    [404, 'upstream_error', ambiguous],
    [405, 'upstream_error', ambiguous],
    [500, 'upstream_error', ambiguous],
    [502, 'upstream_error', ambiguous],
    [503, 'engine_overloaded', unavailable],
    [504, 'upstream_timeout', ambiguous],
    [529, 'engine_overloaded', unavailable],
  ])('F20: %i is %s with blame %j', async (code, expected, blame) => {
    const { engine } = await upstream(status(code));
    await expect(generate(engine)).rejects.toMatchObject({ code: expected, blame });
  });

  it.each([
    [400, 'request_refused', 400],
    [413, 'request_refused', 400],
    [422, 'request_refused', 400],
  ])('F21: %i is permanent and keeps the message of the upstream', async (code, expected, shown) => {
    const { engine } = await upstream(status(code, { error: { message: 'top_p must be under 1' } }));
    await expect(generate(engine)).rejects.toMatchObject({
      code: expected,
      status: shown,
      blame: permanent,
      message: expect.stringContaining('top_p must be under 1'),
    });
  });

  it.each(['', 'litellm.RateLimitError: OpenAIException - '])(
    'F21: a request above the token limit per minute is refused, though OpenAI calls it a rate limit: %j',
    async (before) => {
      const message = `${before}Request too large for gpt-4o in organization org-VDAWofJASuLH0vVz8o9tiQZr on tokens per min (TPM): Limit 30000, Requested 30601.`;
      const error = { message, type: 'tokens', code: 'rate_limit_exceeded' };
      const { fake, engine } = await upstream(status(429, { error }), { flavor: 'openai' });
      await expect(generate(engine)).rejects.toMatchObject({
        code: 'request_refused',
        blame: permanent,
        message: expect.stringMatching(/in organization \[removed\] on .* Limit 30000/),
      });
      fake.answer = status(429, { error: { ...error, message: 'Rate limit reached for gpt-4o' } });
      await expect(generate(engine)).rejects.toMatchObject({ code: 'engine_overloaded' });
    },
  );

  it.each([409, 415])('F21: %i is permanent', async (code) => {
    const { engine } = await upstream(status(code));
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'upstream_error',
      status: 502,
      blame: permanent,
    });
  });

  it("F21: logs a server's message about itself once a minute", async () => {
    const log = createLogBook();
    const { fake, engine } = await upstream(undefined, { log });
    const error = { message: 'CUDA failed in /usr/lib/x.py with secret-upstr', code: 500 };
    const message = `The model's server failed (status 500).`;
    for (const answer of [status(500, { error }), status(200, { error })]) {
      fake.answer = answer;
      await expect(generate(engine)).rejects.toMatchObject({ message });
      await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({ message });
    }
    fake.answer = streamed([frame({ content: 'a' }), `data: ${JSON.stringify({ error })}\n\n`]);
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({ message });
    expect(log.warnings).toEqual([
      {
        message: 'the upstream answers 500',
        fields: expect.objectContaining({ status: 500, said: 'CUDA failed in [path] with [removed]' }),
      },
    ]);
  });

  it('F21: recognizes a prompt that is too long and a missing model', async () => {
    const { fake, engine } = await upstream(
      status(400, { error: { message: "This model's maximum context length is 4096 tokens" } }),
    );
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'context_length_exceeded',
      blame: permanent,
    });
    fake.answer = status(404, { error: { message: 'The model `x` does not exist.' } });
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'model_not_found',
      blame: { scope: 'model', certain: true },
    });
  });

  it('F21: shows neither the address nor the key', async () => {
    const { fake, engine } = await upstream();
    const leak = `key secret-upstream-key refused at http://10.0.0.7:8000/v1/chat by 127.0.0.1:${fake.port}\nBearer abcdefghijk1`;
    fake.answer = status(400, { error: { message: leak } });
    const error = await generate(engine).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error?.message).toContain('refused at [address]');
    expect(error?.message).not.toMatch(/secret-upstream-key|10\.0\.0\.7|127\.0\.0\.1|abcdefghijk1|\n/);
  });

  it.each([
    [401, true, false],
    [402, false, true],
    [403, false, false],
  ])(
    'F22: %i concerns the account, certain: %s, hidden from probes: %s, is logged once and not shown to clients',
    async (code, certain, hidden) => {
      const log = createLogBook();
      const { engine } = await upstream(
        status(code, { error: { message: 'Incorrect API key sk-abcdefgh' } }),
        { log },
      );
      for (let i = 0; i < 3; i++)
        await expect(generate(engine)).rejects.toMatchObject({
          code: 'upstream_error',
          blame: { scope: 'account', certain, hidden },
          shouldRetry: false,
          message: expect.not.stringContaining('API key'),
        });
      expect(log.warnings).toHaveLength(1);
    },
  );

  it.each([
    ['gemini', 400, [{ error: { code: 400, message: 'API key not valid. Please pass another.' } }], true],
    ['gemini', 400, { error: { message: 'API key expired. Please renew the API key.' } }, true],
    ['gemini', 400, { error: { message: 'User location is not supported for the API use.' } }, false],
    ['xai', 400, { code: 'x', error: 'Incorrect API key provided: na***ys.' }, true],
    ['xai', 429, { error: 'Your team 16f2 has either used all available credits or reached its' }, false],
    ['openai', 429, { error: { message: 'You exceeded your quota.', type: 'insufficient_quota' } }, false],
    ['azure', 400, { error: { message: 'x', code: 'billing_hard_limit_reached' } }, false],
    ['anthropic', 400, { error: { message: 'Your credit balance is too low to access it.' } }, false],
    [
      'generic',
      400,
      { error: { message: 'litellm.BadRequestError: AnthropicException - Your credit balance is too low.' } },
      false,
    ],
  ] as const)('F22: %s reports a fault of the account with %i', async (flavor, code, body, certain) => {
    const { engine } = await upstream(status(code, body), { flavor });
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'upstream_error',
      blame: { scope: 'account', certain },
    });
  });

  it.each([
    // Error of llama-cpp-python.
    `[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': "Input should be 'text' or 'json_object'", 'input': 'json_schema'}]`,
    "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': 'x'}",
    "1 validation error for CreateChatCompletionRequest\nresponse_format.type\n  Input should be 'text' or 'json_object'",
    "Input should be 'text' or 'json_object'",
    [{ loc: ['body', 'response_format', 'type'], msg: "Input should be 'text' or 'json_object'" }],
  ])('a 500 that names a field of the request concerns the request: %j', async (reported) => {
    const body =
      typeof reported === 'string'
        ? { error: { message: reported, type: 'internal_server_error' } }
        : { detail: reported };
    const { engine } = await upstream(status(500, body));
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'request_refused',
      message: expect.stringMatching(/status 500.*(?:response_format|json_object)/),
      blame: permanent,
    });
  });

  it.each([
    '1 validation error for ChatCompletionResponse\nmessages\n  Field required',
    "[{'type': 'missing', 'loc': ('response', 'id'), 'msg': 'Field required'}]",
    'CUDA error: out of memory in tools',
  ])('a 500 that names internals of the server concerns the server: %j', async (message) => {
    const { engine } = await upstream(status(500, { error: { message } }));
    await expect(generate(engine)).rejects.toMatchObject({ code: 'upstream_error', blame: ambiguous });
  });

  it.each(['tool_not_called', 'schema_not_met'])(
    'another Offpeak that missed a guarantee is not at fault: %s',
    async (code) => {
      const message = 'The answer is not JSON.';
      const error = { type: 'server_error', code, message };
      const { fake, engine } = await upstream(status(502, { error }), { flavor: 'offpeak' });
      const expected = { code, message, blame: permanent };
      await expect(generate(engine)).rejects.toMatchObject(expected);
      fake.answer = streamed([frame({ content: 'a' }), `data: ${JSON.stringify({ error })}\n\n`]);
      await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject(expected);
    },
  );

  it('F22: does not mistake a rate limit for the account where a server calls it a quota', async () => {
    const error = { message: 'You exceeded your current quota', code: 'insufficient_quota' };
    const { engine } = await upstream(status(429, { error }, { 'retry-after': '3' }), { flavor: 'generic' });
    await expect(generate(engine)).rejects.toMatchObject({ code: 'engine_overloaded', retryAfter: 3 });
  });

  it.each([
    ['gemini', 400, 'Invalid value: "API key not valid."'],
    ['xai', 400, 'Unknown name "Incorrect API key provided"'],
    ['vllm', 400, 'API key not valid'],
  ] as const)('F22: ignores messages that a request can provoke: %s, %s', async (flavor, code, message) => {
    const { engine } = await upstream(status(code, { error: { message } }), { flavor });
    await expect(generate(engine)).rejects.toMatchObject({ code: 'request_refused', blame: permanent });
  });

  it('does not follow redirects', async () => {
    const { fake, engine } = await upstream(status(307, '', { location: 'http://169.254.169.254/' }));
    await expect(generate(engine)).rejects.toMatchObject({ code: 'upstream_error', blame: unavailable });
    expect(fake.received).toHaveLength(1);
  });
});

describe('time', () => {
  it('F23: gives up on a server that never answers', async () => {
    const { engine } = await damaged('hang', 0, complete(), { timeouts: { firstByteMs: 100 } });
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'upstream_timeout',
      status: 504,
      blame: ambiguous,
    });
  });

  it('F23: gives up on a server that pauses in the middle of its answer', async () => {
    const { engine } = await damaged('hang-during', 250, complete('x'.repeat(500)), {
      timeouts: { idleMs: 100 },
    });
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'upstream_timeout',
      message: expect.stringContaining('silent'),
    });
  });

  it('F23: gives up on a stream that pauses', async () => {
    const { engine } = await upstream(
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frame({ content: 'one' }));
      },
      { timeouts: { idleMs: 100 } },
    );
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({ code: 'upstream_timeout' });
  });

  it('F23: detects a hang by silence where whole answers are streamed', async () => {
    const { fake, engine } = await upstream(
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frame({ content: 'one' }));
      },
      { flavor: 'llama-server', timeouts: { idleMs: 100, firstByteMs: 60_000 } },
    );
    await expect(generate(engine)).rejects.toMatchObject({ code: 'upstream_timeout', blame: ambiguous });
    expect(fake.received).toHaveLength(1);
  });

  it('F24: ends a trickle at the total deadline', async () => {
    const { engine } = await damaged('trickle', 0, complete(), { timeouts: { totalMs: 200 } });
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'upstream_timeout',
      message: expect.stringContaining('complete its answer'),
    });
  });
});

describe('connections', () => {
  it('F25: an unreachable server lets lines wait', async () => {
    const engine = engineAt(`http://127.0.0.1:${await freePort()}/v1`);
    open.push(engine);
    await engine.start();
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'upstream_unreachable',
      blame: unavailable,
    });
  });

  it('F25: a name that does not resolve is unreachable too', async () => {
    const engine = engineAt('http://no-such-host.invalid/v1');
    open.push(engine);
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'upstream_unreachable',
      blame: unavailable,
    });
  });

  it.each([
    ['reset-before', 0],
    ['reset-during', 20],
    ['reset-during', 250],
    ['half-close', 250],
  ] as const)(
    'F25: %s after %i bytes fails, counts as an attempt and is not repeated automatically',
    async (fault, bytes) => {
      const { fake, engine } = await damaged(fault, bytes, complete('x'.repeat(500)));
      await expect(generate(engine)).rejects.toMatchObject({ status: 502, blame: ambiguous });
      expect(fake.received.length).toBeLessThan(2);
    },
  );

  it('F25: repeats a request when a kept-alive connection is reset before the first byte', async () => {
    let resets = 0;
    const { fake, engine } = await upstream();
    await generate(engine);
    await nextTurn();
    fake.answer = (response) => {
      fake.answer = complete('after all');
      resets++;
      response.socket?.resetAndDestroy();
    };
    const body = await generate(engine);
    expect(body.choices[0]?.message.content).toBe('after all');
    expect(resets).toBe(1);
    expect(fake.received.map(({ connection }) => connection)).toEqual([0, 0, 1]);
  });

  it('F25: repeats a request once when the connection is closed cleanly', async () => {
    const { fake, engine } = await upstream();
    await generate(engine);
    await nextTurn();
    fake.answer = (response) => response.socket?.end();
    await expect(generate(engine)).rejects.toMatchObject({ code: 'upstream_unreachable', blame: ambiguous });
    expect(fake.received).toHaveLength(3);
  });

  it.each([
    [1_000, 3],
    [1_001, 2],
  ])(
    'F25: a reset %i ms after the start results in %i requests: later, the server may have worked on it',
    async (ms, sent) => {
      const clock = createManualClock();
      const { fake, engine } = await upstream(undefined, { clock });
      await generate(engine);
      await nextTurn();
      fake.answer = (response) => {
        fake.answer = complete('after all');
        void clock.advance(ms).then(() => response.socket?.resetAndDestroy());
      };
      const outcome = await generate(engine).catch((error: unknown) => error);
      if (sent === 2) expect(outcome).toMatchObject({ code: 'upstream_unreachable', blame: ambiguous });
      else expect(outcome).toMatchObject({ choices: [{ message: { content: 'after all' } }] });
      expect(fake.received).toHaveLength(sent);
    },
  );

  it('reuses connections', async () => {
    // The manual clock never stops the wait for the end of a stream.
    const { fake, engine } = await upstream(undefined, { clock: createManualClock() });
    for (let i = 0; i < 3; i++) {
      await generate(engine);
      await nextTurn();
    }
    fake.answer = streamed([frame({ content: 'a' }), frame({}, 'stop'), 'data: [DONE]\n\n']);
    await collect(engine.stream(ask(), call()));
    expect(new Set(fake.received.map(({ connection }) => connection))).toEqual(new Set([0]));
    fake.answer = complete();
    const connectionOfNext = async () => {
      await generate(engine);
      return fake.received.at(-1)?.connection;
    };
    await expect.poll(connectionOfNext).toBe(0);
  });

  it('keeps an eighth more than its slots in flight, and queues the rest', async () => {
    const waiting: (() => void)[] = [];
    const { fake, engine } = await upstream(
      (response) => void waiting.push(() => send(response, 200, completion())),
      { slots: 8 },
    );
    const calls = Array.from({ length: 12 }, () => generate(engine));
    while (waiting.length < 10) await nextTurn();
    expect(fake.received).toHaveLength(10);
    while (fake.received.length < 12 || waiting.length > 0) {
      waiting.shift()?.();
      await nextTurn();
    }
    expect(await Promise.all(calls)).toHaveLength(12);
  });
});

describe('streams', () => {
  it.each([
    ['after some text', [frame({ role: 'assistant', content: 'Hel' }), frame({ content: 'lo' })]],
    ['before anything', []],
    ['after [DONE] without a reason', [frame({ content: 'Hel' }), 'data: [DONE]\n\n']],
    [
      'with one of two choices unfinished',
      [frame({ content: 'a' }), frame({ content: 'b' }, null, 1), frame({}, 'stop')],
    ],
  ])('F26: a stream cut %s throws', async (_, frames) => {
    const { engine } = await upstream(streamed(frames));
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({
      code: 'invalid_upstream_response',
      blame: ambiguous,
    });
  });

  it('F26: a connection reset in the middle of a stream throws', async () => {
    const frames = [frame({ content: 'one' }), frame({ content: 'two' }), frame({}, 'stop')];
    const { engine } = await damaged('reset-during', 300, streamed(frames));
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({ status: 502 });
  });

  it('F27: reads CRLF, comments, split characters, a 2 MB line and a last frame without a newline', async () => {
    const long = 'x'.repeat(2 * 1024 * 1024);
    const text = [
      ': hello',
      '',
      frame({ content: 'grün 🌱' }),
      frame({ content: long }),
      usageFrame,
      frame({}, 'stop').trimEnd(),
    ]
      .join('\n')
      .replaceAll('\n', '\r\n');
    const bytes = Buffer.from(text);
    const middle = bytes.indexOf(0xf0) + 2;
    const pieces = [bytes.subarray(0, 7), bytes.subarray(7, middle), bytes.subarray(middle)];
    const { engine } = await upstream(streamed(pieces));
    const chunks = await collect(engine.stream(ask(), call()));
    expect(textOf(chunks)).toBe(`grün 🌱${long}`);
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 2 });
    expect(chunks.slice(0, -1).every(({ choices }) => choices.length === 1)).toBe(true);
  });

  it('always requests the usage, and estimates it where none arrives', async () => {
    const { fake, engine } = await upstream(
      streamed([frame({ content: 'word '.repeat(8) }), frame({}, 'stop')]),
    );
    const chunks = await collect(engine.stream(ask(), call()));
    expect(JSON.parse(fake.received[0]?.text ?? '')).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 10 } });
  });

  it.each([
    ['an error frame', 'data: {"error":{"message":"out of memory","code":500}}\n\n', 'upstream_error'],
    ['a named error event', 'event: error\ndata: {"message":"busy","code":503}\n\n', 'engine_overloaded'],
    ['a frame that is not JSON', 'data: {"choices":[\n\n', 'invalid_upstream_response'],
  ])('throws at %s', async (_, bad, code) => {
    const { engine } = await upstream(streamed([frame({ content: 'a' }), bad, frame({}, 'stop')]));
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({ code });
  });

  it('does not quote a compressed refusal', async () => {
    const body = gzipSync('{"error":{"message":"x"}}');
    const { engine } = await upstream((reply) => send(reply, 400, body, { 'content-encoding': 'gzip' }));
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'request_refused',
      message: "The model's server refused the request (status 400).",
    });
  });

  it('rejects a compressed stream, and soon closes the unread connection', async () => {
    const clock = createManualClock();
    const { fake, engine } = await upstream(
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
        response.write('half of it');
      },
      { clock },
    );
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({
      code: 'invalid_upstream_response',
      message: expect.stringContaining('compressed'),
    });
    await clock.advance(1_000);
    await expect.poll(() => fake.received[0]?.aborted).toBe(true);
    // The hang detection runs once more.
    await clock.advance(12_000);
    expect(clock.pending).toBe(0);
  });

  it('reports the refusal of a stream like any other', async () => {
    const { fake, engine } = await upstream(status(429, {}, { 'retry-after': '7' }));
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({
      code: 'engine_overloaded',
      retryAfter: 7,
    });
    fake.answer = status(200, '<html>');
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({
      code: 'invalid_upstream_response',
    });
  });

  it('turns a whole answer to a request for a stream into chunks', async () => {
    const { engine } = await upstream(complete('All at once.'));
    const chunks = await collect(engine.stream(ask(), call()));
    expect(textOf(chunks)).toBe('All at once.');
    expect(chunks.flatMap(({ choices }) => choices).at(-1)).toMatchObject({ finish_reason: 'stop' });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 12 } });
  });

  it.each([
    ['after its usage', [frame({ content: 'all' }, 'stop'), usageFrame], 'all'],
    ['before its usage', [frame({ content: 'all' }, 'stop')], null],
    ['before its end', [frame({ content: 'all' }), usageFrame], null],
  ])(
    'accepts an answer whose connection breaks before [DONE] only if it breaks %s',
    async (_, frames, expected) => {
      const { engine } = await upstream(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frames.join(''), () => response.socket?.end());
      });
      const outcome = await collect(engine.stream(ask(), call())).catch(() => null);
      expect(outcome && textOf(outcome)).toBe(expected);
    },
  );
});

it('an answer ends with its usage, even if its server never sends [DONE] or closes', async () => {
  const { engine } = await upstream((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame({ content: 'all' }, 'stop') + usageFrame);
  });
  expect(textOf(await collect(engine.stream(ask(), call())))).toBe('all');
});

it('an answer ends a moment after a usage with its last piece, even if nothing follows', async () => {
  const clock = createManualClock();
  const last = {
    ...JSON.parse(frame({ content: 'all' }, 'stop').slice(6)),
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  };
  const { engine } = await upstream(
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(last)}\n\n`);
    },
    { clock },
  );
  const stream = engine.stream(ask(), call())[Symbol.asyncIterator]();
  const first = await stream.next();
  const rest = stream.next();
  await clock.advance(1_000);
  const { value } = await rest;
  expect(textOf([...first.value, ...value])).toBe('all');
  expect(value.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } });
});

describe('an answer without choices', () => {
  const usage = { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 };
  const filtered = { message: { role: 'assistant', content: null }, finish_reason: 'content_filter' };

  it.each([
    ['an empty list', { object: 'chat.completion', choices: [], usage }],
    ['none at all', { object: 'chat.completion', usage }],
    ['null', { object: 'chat.completion', choices: null, usage: { prompt_tokens: 7 } }],
    ['filter results', { prompt_filter_results: [{ prompt_index: 0 }], usage }],
    ['a block reason', { promptFeedback: { blockReason: 'SAFETY' }, usage }],
  ])('is a filtered prompt: %s', async (_, body) => {
    const { fake, engine } = await upstream(status(200, body));
    await expect(generate(engine)).resolves.toMatchObject({
      choices: [filtered],
      usage: { prompt_tokens: 7, completion_tokens: 0 },
    });
    const three = await engine.generate(ask({ n: 3 }), call());
    expect(three.choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'content_filter'],
      [1, 'content_filter'],
      [2, 'content_filter'],
    ]);
    expect(fake.received).toHaveLength(2);
  });

  it('reports a filtered prompt as a stream, too, if the stream has ended', async () => {
    const empty = (more = {}) => `data: ${JSON.stringify({ choices: [], ...more })}\n\n`;
    const { fake, engine } = await upstream(
      streamed([empty({ prompt_filter_results: [] }), empty({ usage }), 'data: [DONE]\n\n']),
    );
    const chunks = await collect(engine.stream(ask(), call()));
    expect(chunks.flatMap(({ choices }) => choices)).toMatchObject([{ finish_reason: 'content_filter' }]);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 0 } });
    for (const cut of [[empty({ usage })], ['data: [DONE]\n\n']]) {
      fake.answer = streamed(cut);
      await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({ blame: ambiguous });
    }
  });
});

describe('invalid answers', () => {
  const ok = (body: string | Buffer, headers = {}): Responder => status(200, body, headers);

  it.each([
    ['an HTML page', ok('<html>Welcome</html>', { 'content-type': 'text/html' })],
    ['nothing', ok('')],
    ['an empty object', ok('{}')],
    ['an array', ok('[]')],
    ['half of JSON', ok('{"choices":[{"message":{"content":"a"')],
    ['no choices and no usage', ok('{"object":"chat.completion"}')],
    ['choices that are no list', ok(JSON.stringify(completion('', { choices: {} })))],
    ['an answer that was paid and has no choices', ok(JSON.stringify(completion('all', { choices: null })))],
    ['a choice without a message', ok(JSON.stringify(completion('', { choices: [{ index: 0 }] })))],
    [
      'a tool call without a name',
      ok(JSON.stringify(completion('', { choices: [{ message: { tool_calls: [{}] } }] }))),
    ],
    ['a raw NUL', ok('{"choices":[{"message":{"content":"a\u0000b"}}]}')],
    ['a gzip bomb', ok(gzipSync(Buffer.alloc(1024 * 1024)), { 'content-encoding': 'gzip' })],
  ])('F28: %s is rejected and may be retried', async (_, answer) => {
    const { engine } = await upstream(answer);
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'invalid_upstream_response',
      status: 502,
      blame: ambiguous,
    });
  });

  it('F28: include anything but HTTP', async () => {
    const { engine } = await damaged('garbage', 0, complete());
    await expect(generate(engine)).rejects.toMatchObject({ code: 'invalid_upstream_response' });
  });

  it('F28: include a body shorter than announced', async () => {
    const { engine } = await upstream((response) => {
      response.writeHead(200, { 'content-length': '5000' });
      response.write(JSON.stringify(completion()), () => response.socket?.end());
    });
    await expect(generate(engine)).rejects.toMatchObject({ status: 502, blame: ambiguous });
  });

  it('F28: stops reading after 64 MiB', async () => {
    let sent = 0;
    const { engine } = await upstream((response) => {
      const more = Buffer.alloc(1024 * 1024, 0x20);
      const pump = () => {
        while (!response.destroyed && response.write(more)) sent++;
      };
      response.on('drain', pump);
      pump();
    });
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'invalid_upstream_response',
      message: expect.stringContaining('64 MiB'),
    });
    expect(sent).toBeLessThan(120);
  });

  it.each([
    [{ type: 'invalid_request_error', message: 'x' }, 'request_refused'],
    [{ type: 'server_error', code: 'rate_limit_exceeded' }, 'engine_overloaded'],
    [{ type: 'invalid_request_error', code: 503 }, 'engine_overloaded'],
    [{ code: 'INTERNAL', status: 429 }, 'engine_overloaded'],
    [{ type: 'server_error' }, 'upstream_error'],
  ])('F29: an error inside a 200 has the meaning of its code: %o', async (error, code) => {
    const { fake, engine } = await upstream(status(200, { error }));
    await expect(generate(engine)).rejects.toMatchObject({ code });
    fake.answer = streamed([`data: ${JSON.stringify({ error })}\n\n`]);
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({ code });
  });

  it('F29: an error inside a 200 is an error', async () => {
    const { fake, engine } = await upstream(status(200, { error: { message: 'CUDA out of memory' } }));
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'upstream_error',
      blame: ambiguous,
      message: expect.not.stringContaining('CUDA'),
    });
    fake.answer = status(200, { error: { message: 'bad temperature', code: 400 } });
    await expect(generate(engine)).rejects.toMatchObject({ code: 'request_refused', blame: permanent });
    fake.answer = status(200, { error: 'loading' });
    await expect(generate(engine)).rejects.toMatchObject({ code: 'upstream_error' });
  });
});

describe('an answer that Ollama aborted because the model repeated itself', () => {
  const nothing = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'la la la' }, finish_reason: null }];

  it('is rejected', async () => {
    const { fake, engine } = await upstream(complete('', { choices, usage: nothing }));
    await expect(generate(engine)).rejects.toMatchObject({
      code: 'invalid_upstream_response',
      blame: ambiguous,
    });
    fake.answer = complete('', { choices });
    expect((await generate(engine)).choices[0]).toMatchObject({ finish_reason: 'stop' });
  });

  it('is rejected as a stream', async () => {
    const usage = `data: ${JSON.stringify({ choices: [], usage: nothing })}\n\n`;
    const { engine } = await upstream(streamed([frame({ content: 'la la' }), usage, 'data: [DONE]\n\n']));
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject({ blame: ambiguous });
  });
});

describe('a prompt that Ollama truncated', () => {
  const cut = { usage: { prompt_tokens: 4_096, completion_tokens: 3, total_tokens: 4_099 } };
  const tooLong = { code: 'context_length_exceeded', status: 400, blame: permanent };

  it('is rejected where the context is known, whole and streamed', async () => {
    const known = { flavor: 'ollama' as const, contextLength: 4_096 };
    const { fake, engine } = await upstream(complete('Hm?', cut), known);
    await expect(generate(engine)).rejects.toMatchObject(tooLong);
    const usage = `data: ${JSON.stringify({ choices: [], ...cut })}\n\n`;
    fake.answer = streamed([frame({ content: 'Hm?' }, 'stop'), usage, 'data: [DONE]\n\n']);
    await expect(collect(engine.stream(ask(), call()))).rejects.toMatchObject(tooLong);
  });

  it.each([
    ['fills it', 'x', 8, tooLong],
    ['is much longer', 'four'.repeat(17), 5, tooLong],
    ['is much longer, among others', ['x', 'four'.repeat(17)], 8, tooLong],
    ['fits', 'four', 2, null],
    ['fits, among others', ['x', 'y'], 8, null],
  ])('is rejected as an input of embeddings if it %s', async (_, input, tokens, error) => {
    const { engine } = await upstream(
      (response) => {
        const data = [input].flat().map((__, index) => ({ index, embedding: [1, 0] }));
        send(response, 200, { data, usage: { prompt_tokens: tokens } });
      },
      { flavor: 'ollama', contextLength: 8 },
    );
    const answer = engine.direct('embeddings', json({ model: 'public', input }), call());
    if (error) await expect(answer).rejects.toMatchObject(error);
    else expect((await answer).promptTokens).toBe(tokens);
  });

  it.each([{ flavor: 'ollama' as const }, { flavor: 'vllm' as const, contextLength: 4_096 }])(
    'is not detectable, or does not occur, with %j',
    async (options) => {
      const { engine } = await upstream(complete('Hm.', cut), options);
      expect((await generate(engine)).usage.prompt_tokens).toBe(4_096);
    },
  );
});

describe('a server whose whole answers are streamed', () => {
  const event = (delta: object, finish: string | null, more: object = {}) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish, ...more }] })}\n\n`;
  const head = { id: 'c9', created: 7, model: 'm', system_fingerprint: 'b10434' };
  const logprobs = { content: [{ token: 'Hi', logprob: -1, bytes: [72, 105], top_logprobs: [] }] };
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 5,
    total_tokens: 14,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 2 },
  };
  const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }];

  it('gives the same answer', async () => {
    const whole = {
      ...head,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi', reasoning_content: 'Hm.', tool_calls },
          logprobs,
          finish_reason: 'tool_calls',
        },
      ],
      usage,
    };
    const { fake, engine } = await upstream(
      streamed([
        event({ role: 'assistant', content: null }, null),
        event({ reasoning_content: 'Hm' }, null) + event({ reasoning_content: '.' }, null),
        event({ content: 'Hi' }, null, { logprobs }),
        event({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '{"a"' } }] }, null),
        event({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }, null),
        event({}, 'tool_calls'),
        `data: ${JSON.stringify({ ...head, choices: [], usage })}\n\ndata: [DONE]\n\n`,
      ]),
      { flavor: 'llama-server' },
    );
    const folded = await generate(engine);
    expect(JSON.parse(fake.received[0]!.text)).toMatchObject({ stream: true });
    const { fake: other, engine: plain } = await upstream((response) => send(response, 200, whole), {
      flavor: 'vllm',
    });
    expect(folded).toEqual(await generate(plain));
    expect(JSON.parse(other.received[0]!.text)).not.toHaveProperty('stream');
  });
});

describe('repaired answers', () => {
  it('reads content in parts, with the reasoning among them', async () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'text', text: 'Oslo' },
      { type: 'text', text: '.' },
    ];
    const { fake, engine } = await upstream(
      complete('', { choices: [{ message: { content }, finish_reason: 'stop' }] }),
    );
    const expected = { content: 'Oslo.', reasoning: 'Hm.', reasoning_content: 'Hm.' };
    expect((await generate(engine)).choices[0]?.message).toMatchObject(expected);
    fake.answer = streamed([frame({ content }), frame({ content: [{ type: 'text', text: '' }] }, 'stop')]);
    const [first] = await collect(engine.stream(ask(), call()));
    expect(first?.choices[0]?.delta).toMatchObject(expected);
  });

  it.each([
    ['missing', undefined],
    ['negative', { prompt_tokens: -1, completion_tokens: -3 }],
    ['text', { prompt_tokens: '12', completion_tokens: 'many' }],
    ['absurd', { prompt_tokens: 1e18, completion_tokens: 4e12 }],
    ['fractions', { prompt_tokens: 1.5, completion_tokens: 0.1 }],
    ['null', { prompt_tokens: null, completion_tokens: null }],
  ])('F30: usage that is %s is estimated, and logged once', async (_, usage) => {
    const log = createLogBook();
    const { engine } = await upstream(complete('x'.repeat(40), { usage }), { log });
    for (let i = 0; i < 2; i++) {
      const body = await generate(engine);
      const { prompt_tokens, completion_tokens, total_tokens } = body.usage;
      expect(prompt_tokens).toBeGreaterThan(5);
      expect(completion_tokens).toBe(10);
      expect(total_tokens).toBe(prompt_tokens + completion_tokens);
      expect(body.usage.prompt_tokens_details).toEqual({ cached_tokens: 0 });
    }
    expect(log.warnings.map(({ message }) => message)).toEqual([expect.stringContaining('usage estimated')]);
  });

  it('F30: an image is not billed by its bytes where the server reports no usage', async () => {
    const { engine } = await upstream(complete('a', { usage: undefined }));
    const image_url = { url: `data:image/png;base64,${'A'.repeat(2_000_000)}` };
    const request = ask({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }] });
    const body = await engine.generate(request, call());
    expect(body.usage.prompt_tokens).toBeLessThan(1_100);
  });

  it('F30: never counts more cached tokens than the prompt has', async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 500 } };
    const { engine } = await upstream(complete('a', { usage }));
    const body = await generate(engine);
    expect(body.usage.prompt_tokens_details.cached_tokens).toBe(9);
  });

  it('F31: invalid UTF-8, NUL and lone surrogates leave text that is Unicode', async () => {
    const log = createLogBook();
    const { fake, engine } = await upstream(undefined, { log });
    const around = JSON.stringify(completion('@@'));
    const at = around.indexOf('@@');
    const bytes = [
      Buffer.from(around.slice(0, at)),
      Buffer.of(0xff, 0xc3),
      Buffer.from(around.slice(at + 2)),
    ];
    fake.answer = status(200, Buffer.concat(bytes));
    const first = await generate(engine);
    expect(first.choices[0]?.message.content).toBe('\ufffd\ufffd');

    fake.answer = status(200, around.replace('@@', 'a\\u0000b\\ud83dc'));
    const second = await generate(engine);
    const { content } = second.choices[0]!.message;
    expect(content).toBe('a\u0000b\ufffdc');
    expect(JSON.parse(Buffer.from(JSON.stringify(second)).toString())).toEqual(second);
    expect(log.warnings.map(({ message }) => message)).toEqual([expect.stringContaining('not Unicode')]);
  });
});

describe('cancellation', () => {
  it('closes the connection at once when the signal aborts', async () => {
    const left = new AbortController();
    const { fake, engine } = await upstream(() => left.abort(new Error('the client left')));
    await expect(engine.generate(ask(), call(left.signal))).rejects.toThrow('the client left');
    await expect.poll(() => fake.received[0]?.aborted).toBe(true);
  });

  it('closes it when a stream is abandoned', async () => {
    const { fake, engine } = await upstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frame({ content: 'one' }));
    });
    for await (const _ of engine.stream(ask(), call())) break;
    await expect.poll(() => fake.received[0]?.aborted).toBe(true);
  });

  it('sends nothing for an aborted signal', async () => {
    const { fake, engine } = await upstream();
    await expect(engine.generate(ask(), call(AbortSignal.abort(new Error('gone'))))).rejects.toThrow('gone');
    expect(fake.received).toHaveLength(0);
  });

  it('fails calls in flight when stopped, and starts again', async () => {
    const { fake, engine } = await upstream(() => {});
    const pending = generate(engine);
    const refused = expect(pending).rejects.toMatchObject({ code: 'shutting_down' });
    await expect.poll(() => fake.received.length).toBe(1);
    await engine.stop();
    await engine.stop();
    await refused;
    await expect(generate(engine)).rejects.toMatchObject({ code: 'shutting_down' });
    await engine.start();
    fake.answer = complete();
    await expect(generate(engine)).resolves.toBeDefined();
  });
});

describe('embeddings', () => {
  const request = json({ model: 'public', input: ['a', 'b'], encoding_format: 'base64' as const });
  const vectors = (...list: unknown[]) => ({
    data: list.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    usage: { prompt_tokens: 4, total_tokens: 4 },
  });

  it('requests floats and reads floats or base64, in the order of the inputs', async () => {
    const { fake, engine } = await upstream(
      status(200, {
        ...vectors([1, 2]),
        data: vectors([3, 4], [1, 2]).data.map((item, i) => ({ ...item, index: 1 - i })),
      }),
    );
    const floats = await engine.direct('embeddings', request, call());
    expect(floats.vectors.map((vector) => [...vector])).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(JSON.parse(fake.received[0]?.text ?? '')).toEqual({
      model: 'real-name',
      input: ['a', 'b'],
      encoding_format: 'float',
    });

    const base64 = (...numbers: number[]) =>
      Buffer.from(Float32Array.from(numbers).buffer).toString('base64');
    fake.answer = status(200, vectors(base64(1.5, -2), base64(0, 1)));
    const packed = await engine.direct('embeddings', request, call());
    expect(packed.vectors.map((vector) => [...vector])).toEqual([
      [1.5, -2],
      [0, 1],
    ]);
    expect(packed.promptTokens).toBe(4);
  });

  it.each([
    ['too few', vectors([1])],
    ['different lengths', vectors([1], [1, 2])],
    ['text', vectors(['a'], ['b'])],
    ['nothing', vectors([], [])],
    ['no data', {}],
  ])('rejects %s', async (_, body) => {
    const { engine } = await upstream(status(200, body));
    await expect(engine.direct('embeddings', request, call())).rejects.toMatchObject({
      code: 'invalid_upstream_response',
    });
  });

  it.each<[string, unknown, number]>([
    ['texts', ['a'.repeat(19), 'b'.repeat(20)], 10],
    ['one text of token ids', [5, 6, 7], 3],
    ['texts of token ids', [[5, 6], [7]], 3],
  ])('counts %s itself if the server does not', async (_, input, tokens) => {
    for (const usage of [undefined, null, {}, { prompt_tokens: 0 }]) {
      const list = typeof (input as unknown[])[0] === 'number' ? [[1]] : [[1], [2]];
      const { engine } = await upstream(status(200, { ...vectors(...list), usage }));
      const { promptTokens } = await engine.direct(
        'embeddings',
        json({ model: 'm', input: input as string[] }),
        call(),
      );
      expect(promptTokens).toBe(tokens);
    }
  });

  it.each([
    { input_tokens: 7 },
    { total_tokens: 7 },
    { prompt_tokens: '7' },
    { prompt_tokens: 0, total_tokens: 7 },
  ])('reads the token count reported as %j', async (usage) => {
    const { engine } = await upstream(status(200, { ...vectors([1], [2]), usage }));
    expect((await engine.direct('embeddings', request, call())).promptTokens).toBe(7);
  });

  it('reports refused dimensions, and only those', async () => {
    const asked = json({ model: 'public', input: ['a', 'b'], dimensions: 1 });
    const words = 'Model "m" does not support matryoshka representation, changing output dimensions';
    const { fake, engine } = await upstream(status(400, { error: { message: words } }));
    await expect(engine.direct('embeddings', asked, call())).rejects.toMatchObject({
      code: 'validation_error',
      param: 'dimensions',
      message: expect.stringContaining('matryoshka'),
    });
    await expect(engine.direct('embeddings', request, call())).rejects.toMatchObject({
      code: 'request_refused',
    });
    fake.answer = status(400, { error: { message: 'input too odd' } });
    await expect(engine.direct('embeddings', asked, call())).rejects.toMatchObject({
      code: 'request_refused',
    });
  });

  it('reports ignored dimensions', async () => {
    const { engine } = await upstream(status(200, vectors([1, 2], [3, 4])));
    const asked = json({ model: 'public', input: ['a', 'b'], dimensions: 1 });
    await expect(engine.direct('embeddings', asked, call())).rejects.toMatchObject({
      code: 'validation_error',
      param: 'dimensions',
    });
  });
});
