import { afterEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import type { ChatMessage } from '../../../src/wire/chat/chat.ts';
import {
  complete,
  frame,
  send,
  startFakeUpstream,
  streamed,
  usageFrame,
} from '../../support/fake-upstream.ts';
import type { Responder } from '../../support/fake-upstream.ts';
import { ask, call, collect, engineAt, textOf } from './setup.ts';

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

type Rule = (roles: string[]) => boolean;
const first: Rule = (roles) => roles.lastIndexOf('system') <= 0;
const never: Rule = (roles) => !roles.includes('system');
const notLast: Rule = (roles) => first(roles) && !roles.join().includes('tool,user');
const alternating: Rule = (roles) => first(roles) && !/user,user|tool,user/.test(roles.join());

const error =
  (status: number, message: string): Responder =>
  (reply) =>
    send(reply, status, { error: { message, type: 'BadRequestError', code: status } });

const rolesOf = (text: string) =>
  (JSON.parse(text) as { messages: ChatMessage[] }).messages.map(({ role }) => role);

/** Server whose template accepts system messages only where `takes` returns true. */
async function serverAt(flavor: Flavor, takes: Rule, refusal: Responder) {
  const answered: Responder = (reply, request) =>
    (JSON.parse(request.text) as { stream?: boolean }).stream
      ? streamed([
          frame({ role: 'assistant', content: 'Fine.' }),
          frame({}, 'stop'),
          usageFrame,
          'data: [DONE]\n\n',
        ])(reply, request)
      : complete('Fine.')(reply, request);
  const fake = await startFakeUpstream((reply, request) =>
    (takes(rolesOf(request.text)) ? answered : refusal)(reply, request),
  );
  const engine = engineAt(fake.url, { flavor });
  open.push(fake, engine);
  const sent = () =>
    fake.received.map(({ text }) => (JSON.parse(text) as { messages: ChatMessage[] }).messages);
  return { engine, fake, sent };
}

const main: ChatMessage = { role: 'system', content: 'main' };
const late: ChatMessage = { role: 'system', content: 'tools: a, b' };
const hi: ChatMessage = { role: 'user', content: 'hi' };
const late400 = error(400, 'System message must be at the beginning.');
const asked = ask({ messages: [main, hi, late] });
const loop: ChatMessage[] = [
  hi,
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_0001', type: 'function', function: { name: 'f', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'call_0001', content: 'ok' },
];

const refusals: [Flavor, Responder][] = [
  ['vllm', late400],
  ['sglang', error(400, 'System message must be at the beginning.')],
  [
    'llama-server',
    error(
      500,
      'Unable to generate parser for this template: Jinja Exception: System message must be at the beginning.',
    ),
  ],
  [
    'llama-server',
    // Message of a build of October 2026.
    error(
      400,
      "Unable to generate parser for this template. Automatic parser generation failed: \n------------\nWhile executing CallExpression at line 1, column 91 in source:\n...and not loop.first %}{{- raise_exception('System message must be at the beginnin...\n                                           ^\nError: Jinja Exception: System message must be at the beginning.",
    ),
  ],
  ['ollama', late400],
  ['openrouter', error(400, 'Provider returned error: System message must be at the beginning.')],
  [
    'mistral',
    (reply) =>
      send(reply, 400, {
        object: 'error',
        type: 'invalid_request_message_order',
        code: '3230',
        message: 'Expected last role User or Tool (or Assistant with prefix True) for serving but got system',
      }),
  ],
  ['generic', error(400, "Unexpected role 'system' after role 'user'")],
  ['generic', error(422, 'Only the first message can be a system message')],
  ['generic', error(400, 'messages: multiple system messages are not allowed')],
];

describe('a server that refuses a later system message', () => {
  it.each(refusals)(
    'of the flavor %s gets a retry, and the next time the accepted form at once',
    async (flavor, refusal) => {
      const { engine, sent } = await serverAt(flavor, first, refusal);
      const answer = await engine.generate(asked, call());
      expect(answer.choices[0]!.message.content).toBe('Fine.');
      const moved = [main, { role: 'user', content: 'hi\n\ntools: a, b' }];
      expect(sent()).toEqual([[main, hi, late], moved]);
      await engine.generate(asked, call());
      expect(sent().slice(2)).toEqual([moved]);
    },
  );

  it('is retried for a stream, too, after an error status or event', async () => {
    const event = streamed([
      `data: ${JSON.stringify({ error: { message: 'System message must be at the beginning.', code: 400 } })}\n\n`,
    ]);
    for (const refusal of [late400, event]) {
      const { engine, sent } = await serverAt('vllm', first, refusal);
      expect(textOf(await collect(engine.stream(asked, call())))).toBe('Fine.');
      expect(textOf(await collect(engine.stream(asked, call())))).toBe('Fine.');
      expect(sent()).toHaveLength(3);
    }
  });

  it('gets conversations in the learned place until it refuses', async () => {
    const { engine, sent } = await serverAt('vllm', () => true, late400);
    await engine.generate(asked, call());
    await engine.generate(ask({ messages: [main, late, hi] }), call());
    expect(sent()).toEqual([
      [main, hi, late],
      [main, late, hi],
    ]);
  });

  it('gets leading system messages as one', async () => {
    const { engine, sent } = await serverAt('vllm', first, late400);
    await engine.generate(ask({ messages: [main, late, hi] }), call());
    expect(sent()[1]).toEqual([{ role: 'system', content: 'main\n\ntools: a, b' }, hi]);
  });

  it('gets all at the start where no user turn may follow a tool', async () => {
    const refusal: Responder = (reply, request) =>
      error(
        400,
        first(rolesOf(request.text))
          ? "Unexpected role 'user' after role 'tool'"
          : "Unexpected role 'system' after role 'tool'",
      )(reply, request);
    const { engine, sent } = await serverAt('mistral', notLast, refusal);
    await engine.generate(asked, call());
    expect(sent()).toHaveLength(2);
    const messages = [main, ...loop, late];
    await engine.generate(ask({ messages }), call());
    expect(
      sent()
        .slice(2)
        .map((each) => each.map(({ role }) => role).join()),
    ).toEqual(['system,user,assistant,tool,user', 'system,user,assistant,tool']);
    await engine.generate(ask({ messages }), call());
    expect(sent()).toHaveLength(5);
  });

  it('gets none where its template has no system role, at once if it says so', async () => {
    const gemma = await serverAt(
      'llama-server',
      never,
      error(500, 'Jinja Exception: System role not supported'),
    );
    await gemma.engine.generate(ask({ messages: [main, hi] }), call());
    expect(gemma.sent()).toEqual([[main, hi], [{ role: 'user', content: 'main\n\nhi' }]]);
    const llama = await serverAt(
      'vllm',
      (roles) => never(roles) && alternating(roles),
      error(400, 'Conversation roles must alternate user/assistant/user/assistant/...'),
    );
    await llama.engine.generate(asked, call());
    await llama.engine.generate(asked, call());
    expect(llama.sent().map((each) => each.length)).toEqual([3, 2, 2, 1, 1]);
    expect(llama.sent().at(-1)).toEqual([{ role: 'user', content: 'main\n\ntools: a, b\n\nhi' }]);
  });

  it('is retried only where the text differs, and its refusal is passed on', async () => {
    const plain = await serverAt('vllm', () => false, late400);
    await expect(plain.engine.generate(ask({ messages: [hi] }), call())).rejects.toMatchObject({
      code: 'request_refused',
      message: expect.stringContaining('System message must be at the beginning.') as string,
    });
    expect(plain.sent()).toHaveLength(1);
    await expect(plain.engine.generate(asked, call())).rejects.toMatchObject({ code: 'request_refused' });
    // Tried as text of the user, all at the start, and without any; failures teach nothing.
    expect(plain.sent()).toHaveLength(5);
    await expect(plain.engine.generate(asked, call())).rejects.toMatchObject({ code: 'request_refused' });
    expect(plain.sent()[5]).toEqual([main, hi, late]);
  });

  it.each([
    [400, 'Input should be a valid string'],
    [500, 'the file system was full at the start'],
    [503, 'System message must be at the beginning.'.replace('message', 'load')],
  ])('gets no retry after another error (%d %s)', async (status, message) => {
    const { engine, sent } = await serverAt('vllm', first, error(status, message));
    await expect(engine.generate(asked, call())).rejects.toThrow();
    expect(sent()).toHaveLength(1);
  });

  it('keeps every digit and member of the request', async () => {
    const { engine, fake } = await serverAt('vllm', first, late400);
    const text =
      '{"model":"public", "seed": 12345678901234567890, "messages":[{"role":"user","content":"hi"},{"role":"system","content":"b"}], "temperature":1.0}';
    await engine.generate({ value: JSON.parse(text) as never, text }, call());
    expect(fake.received[1]!.text).toBe(
      '{"model":"real-name", "seed": 12345678901234567890, "messages":[{"role":"user","content":"hi\\n\\nb"}], "temperature":1.0}',
    );
  });
});
