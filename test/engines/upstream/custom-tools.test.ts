import { afterEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import { presentChat } from '../../../src/wire/chat/answer/present.ts';
import type { ChatBody } from '../../../src/wire/chat/request/body.ts';
import { canonicalChat } from '../../../src/wire/chat/request/canonical.ts';
import { foldChunks } from '../../../src/wire/chat/stream/fold-chunks.ts';
import { completion, frame, send, startFakeUpstream, usageFrame } from '../../support/fake-upstream.ts';
import { call, engineAt, json } from './setup.ts';

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

const format = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: /[a-z]+/' } };
const patch = { type: 'custom' as const, custom: { name: 'patch', description: 'Edits.', format } };
const look = { type: 'function' as const, function: { name: 'look' } };
const input = 'say "hi"\n\u2028 \u{1f600} \\';
const called = { id: 'call_1', type: 'custom' as const, custom: { name: 'patch', input } };

/** Request with a call made by the model, which it may repeat. */
const body = (more: Partial<ChatBody> = {}) =>
  canonicalChat(
    json<ChatBody>({
      model: 'public',
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, tool_calls: [called] },
        { role: 'tool', tool_call_id: 'call_1', content: 'done' },
      ],
      tools: [
        look,
        { ...patch, custom: { ...patch.custom, url: 'https://elsewhere' } },
      ] as ChatBody['tools'] & {},
      tool_choice: { type: 'custom', custom: { name: 'patch' } },
      ...more,
    }),
  );

const message = { role: 'assistant', content: null, tool_calls: [called] };
const answer = { ...completion(''), choices: [{ index: 0, message, finish_reason: 'tool_calls' }] };

async function serverOf(flavor: Flavor, more: Partial<UpstreamOptions> = {}) {
  const fake = await startFakeUpstream((response) => send(response, 200, answer));
  const engine = engineAt(fake.url, { flavor, model: 'gpt-5-mini', ...more });
  open.push(fake, engine);
  const sent = () => JSON.parse(fake.received.at(-1)!.text) as Record<string, unknown>;
  return { fake, engine, sent };
}

describe('tools with free text', () => {
  it.each<Flavor>(['openai', 'azure'])(
    'are sent to %s unchanged, and their calls returned so',
    async (flavor) => {
      const { engine, sent } = await serverOf(flavor);
      const { body: request, calls } = body();
      const got = await engine.generate(request, call());
      expect(sent()).toMatchObject({
        tools: [look, patch],
        tool_choice: { type: 'custom', custom: { name: 'patch' } },
        messages: [{ role: 'user' }, { role: 'assistant', tool_calls: [called] }, { role: 'tool' }],
      });
      expect(JSON.stringify(sent())).not.toContain('elsewhere');
      const shown = presentChat(got, calls) as unknown as typeof answer;
      expect(shown.choices[0]?.message.tool_calls).toEqual([called]);
    },
  );

  it.each<[Flavor, Partial<UpstreamOptions>]>([
    ['vllm', {}],
    ['openai', { model: 'gpt-4.1-mini' }],
    ['azure', { model: 'my-deployment' }],
    ['openai', { capabilities: { customTools: false } }],
  ])('are sent to other models as functions: %s %j', async (flavor, more) => {
    const { engine, sent } = await serverOf(flavor, more);
    expect(engine.capabilities.customTools).toBe(false);
    await engine.generate(body().body, call());
    const { tools, tool_choice: choice } = sent();
    expect(tools).toMatchObject([look, { type: 'function', function: { name: 'patch' } }]);
    expect(JSON.stringify(tools)).not.toContain('"custom"');
    expect(choice).toEqual({ type: 'function', function: { name: 'patch' } });
    expect(sent()['messages']).toMatchObject([{}, { tool_calls: [{ type: 'function' }] }, {}]);
  });

  it.each<[Flavor, Partial<UpstreamOptions>]>([
    ['openai', { model: 'gpt-5.5' }],
    ['openai', { model: 'gpt-10' }],
    ['azure', { model: 'my-deployment', capabilities: { customTools: true } }],
    ['generic', { capabilities: { customTools: true } }],
  ])('are sent unchanged to newer models, and where configured: %s %j', async (flavor, more) => {
    const { engine, sent } = await serverOf(flavor, more);
    expect(engine.capabilities.customTools).toBe(true);
    await engine.generate(body().body, call());
    expect(sent()).toMatchObject({ tools: [look, patch] });
  });

  it('become functions in the format of Anthropic, whatever is configured', async () => {
    const { engine } = await serverOf('anthropic', { capabilities: { customTools: true } });
    expect(engine.capabilities.customTools).toBe(false);
  });

  it('are called in streams, in pieces', async () => {
    const { fake, engine } = await serverOf('openai');
    const piece = (custom: object, more = {}) => frame({ tool_calls: [{ index: 0, custom, ...more }] });
    fake.answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(piece({ name: 'patch', input: '' }, { id: 'call_1', type: 'custom' }));
      // Cuts an emoji in two.
      for (const at of [0, 5, 11, 12]) {
        const end = { 0: 5, 5: 11, 11: 12 }[at] ?? input.length;
        response.write(piece({ input: input.slice(at, end) }));
      }
      response.write(frame({}, 'tool_calls') + usageFrame);
      response.end('data: [DONE]\n\n');
    };
    const { body: request, calls } = body();
    const got = await foldChunks(engine.stream(request, call()));
    const [made] = got.choices[0]?.message.tool_calls ?? [];
    expect(JSON.parse(made?.function.arguments ?? '')).toEqual({ input });
    const shown = presentChat(got, calls);
    expect((shown as unknown as typeof answer).choices[0]).toMatchObject({
      message: { tool_calls: [called] },
      finish_reason: 'tool_calls',
    });
  });
});
