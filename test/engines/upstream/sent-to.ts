import { expect, onTestFinished } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import { flavorTraits } from '../../../src/engines/upstream/flavors/flavors.ts';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import { parseChatRequest } from '../../../src/wire/chat/request/request.ts';
import { complete, startFakeUpstream } from '../../support/fake-upstream.ts';
import { ask, call, engineAt } from './setup.ts';

type Fields = Record<string, unknown>;

/** Answer with log probabilities, which some of the requests require. */
const scored = {
  index: 0,
  message: { role: 'assistant', content: 'a' },
  logprobs: { content: [{ token: 'a', logprob: -1, bytes: null, top_logprobs: [] }] },
  finish_reason: 'stop',
};

/** Body that a server of this flavor receives for these fields. */
export async function bodyTo(
  flavor: Flavor,
  fields: Fields,
  options: Partial<UpstreamOptions> = {},
): Promise<Fields> {
  const fake = await startFakeUpstream(complete('', { choices: [scored] }));
  onTestFinished(() => fake.close());
  const engine = engineAt(fake.url, { flavor, ...options });
  onTestFinished(() => engine.stop());
  const { body } = parseChatRequest(ask(fields).text);
  // A server that makes fewer choices than requested gets several requests; the first one counts here.
  await engine.generate(body, call());
  return JSON.parse(fake.received[0]!.text) as Fields;
}

/** The same without the model and the messages. */
export async function sentTo(
  flavor: Flavor,
  fields: Fields,
  options: Partial<UpstreamOptions> = {},
): Promise<Fields> {
  const { model: _model, messages: _messages, ...rest } = await bodyTo(flavor, fields, options);
  if (!flavorTraits[flavor].asStream) return rest;
  const { stream, stream_options: streamOptions, return_progress: progress, ...others } = rest;
  expect(stream).toBe(true);
  expect(progress).toBe(flavorTraits[flavor].progress && true);
  expect([undefined, { include_usage: true }]).toContainEqual(streamOptions);
  return others;
}
