import Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../src/core/flavor.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import {
  completion,
  frame,
  message,
  send,
  startFakeUpstream,
  streamed,
  usageFrame,
} from '../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../support/fake-upstream.ts';

// Stop sequences of /v1/messages, with upstreams that leave them in the text, and one that reports them only in this
// format.

let fake: FakeUpstream;
let app: RunningApp;
afterEach(async () => {
  await app?.stop();
  await fake?.close();
});

async function start(flavor: Flavor, answer: Responder, speech?: 'via chat') {
  fake = await startFakeUpstream(answer);
  const capabilities = speech ? { formats: { messages: speech } } : {};
  app = await startApp({ models: [testModel({ ...upstreamEngine(fake.url), flavor, capabilities })] });
}

const asked = {
  model: 'tiny',
  max_tokens: 9,
  messages: [{ role: 'user', content: 'hi' }],
  stop_sequences: ['END', 'e'],
};

async function post(fields: object = {}) {
  const response = await fetch(`${app.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...asked, ...fields }),
  });
  return (await response.json()) as Anthropic.Message;
}

async function stream() {
  const client = new Anthropic({ authToken: app.key, apiKey: null, baseURL: app.url, maxRetries: 0 });
  return client.messages.stream(asked as Anthropic.MessageCreateParamsStreaming).finalMessage();
}

const paths = () => fake.received.map(({ path }) => path).filter((path) => /completions|messages/.test(path));

describe('a stop sequence that the upstream leaves in the text', () => {
  const met = { content: [{ type: 'text', text: 'a ' }], stop_reason: 'stop_sequence', stop_sequence: 'END' };

  it('is cut off and reported, plain and streamed', async () => {
    await start('generic', (response) => send(response, 200, completion('a END')));
    expect(await post()).toMatchObject(met);
    fake.answer = streamed([
      frame({ content: 'a E' }),
      frame({ content: 'ND' }, 'stop'),
      usageFrame,
      'data: [DONE]\n\n',
    ]);
    expect(await stream()).toMatchObject(met);
  });
});

describe('llama-server', () => {
  const given = message('th', { stop_reason: 'end_turn', stop_sequence: 'e' });
  const events = [
    ['message_start', { message: { ...message('', { content: [], stop_reason: null }) } }],
    ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
    ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'th' } }],
    ['content_block_stop', { index: 0 }],
    [
      'message_delta',
      { delta: { stop_reason: 'end_turn', stop_sequence: 'e' }, usage: { output_tokens: 3 } },
    ],
    ['message_stop', {}],
  ] as const;
  const streaming = streamed(
    events.map(([type, fields]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`),
  );
  const answer =
    (props: object): Responder =>
    (response, request) => {
      if (request.path === '/props') return send(response, 200, { total_slots: 4, ...props });
      if (!request.path.endsWith('/messages')) return send(response, 200, completion('th'));
      return request.text.includes('"stream":true')
        ? streaming(response, request)
        : send(response, 200, given);
    };
  const newer = answer({ is_sleeping: false });
  const met = { content: [{ type: 'text', text: 'th' }], stop_reason: 'stop_sequence', stop_sequence: 'e' };

  it('gets a messages request if the text may end with a stop sequence', async () => {
    await start('llama-server', newer);
    expect(await post({ system: 'Be brief.', temperature: 0 })).toMatchObject(met);
    expect(await stream()).toMatchObject(met);
    expect(paths()).toEqual(['/v1/messages', '/v1/messages']);
  });

  it.each<[string, object]>([
    ['without stop sequences', { stop_sequences: [] }],
    ['with tools', { tools: [{ name: 'f', input_schema: { type: 'object' } }] }],
    ['with a thinking setting', { thinking: { type: 'disabled' } }],
    ['for JSON', { output_config: { format: { type: 'json_schema', schema: {} } } }],
    [
      'with a later system message',
      { messages: [...asked.messages, { role: 'system', content: 'b' }, ...asked.messages] },
    ],
  ])('gets a chat request for a request %s', async (_, fields) => {
    await start('llama-server', newer);
    await post(fields);
    expect(paths().length).toBeGreaterThan(0);
    expect(paths().every((path) => path === '/v1/chat/completions')).toBe(true);
  });

  it.each<[string, object, 'via chat' | undefined]>([
    ['if the version is too old', {}, undefined],
    ['if configured', { is_sleeping: false }, 'via chat'],
  ])('gets a chat request %s', async (_, props, speech) => {
    await start('llama-server', answer(props), speech);
    expect((await post()).stop_reason).toBe('end_turn');
    expect(paths()).toEqual(['/v1/chat/completions']);
  });
});
