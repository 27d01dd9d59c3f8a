// No field that an official SDK or the flavor of a server names counts as unknown.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flavorTraits } from '../../src/engines/upstream/flavors/flavors.ts';
import { checkChatRequest } from '../../src/wire/chat/request/request.ts';
import { checkCompletionsRequest } from '../../src/wire/completions/request.ts';
import { checkEmbeddingsRequest } from '../../src/wire/embeddings/request.ts';
import { checkMessagesRequest } from '../../src/wire/messages/request/request.ts';
import { checkResponsesRequest } from '../../src/wire/responses/request/request.ts';
import { findUnknownFields } from '../../src/wire/schema/unknown-fields.ts';
import type { Validator } from '../../src/wire/schema/validate.ts';
import { createSdkTypes } from '../support/sdk-types.ts';

const packages = join(import.meta.dirname, '../../node_modules');

const unknown = (samples: readonly object[], check: Validator) => [
  ...new Set(samples.flatMap((body) => findUnknownFields(body, check.known()).map(({ field }) => field))),
];

const openai = ['openai', 'openai6'].flatMap((sdk): [string, string, string, Validator][] => [
  [sdk, 'resources/chat/completions/completions', 'ChatCompletionCreateParamsBase', checkChatRequest],
  [sdk, 'resources/completions', 'CompletionCreateParamsBase', checkCompletionsRequest],
  [sdk, 'resources/embeddings', 'EmbeddingCreateParams', checkEmbeddingsRequest],
  [sdk, 'resources/responses/responses', 'ResponseCreateParamsBase', checkResponsesRequest],
]);

const anthropic = ['@anthropic-ai/sdk', 'anthropic0'].flatMap(
  (sdk): [string, string, string, Validator][] => [
    [sdk, 'resources/messages/messages', 'MessageCreateParamsBase', checkMessagesRequest],
    [sdk, 'resources/beta/messages/messages', 'MessageCreateParamsBase', checkMessagesRequest],
  ],
);

describe('the types of the official SDKs', () => {
  it.each([...openai, ...anthropic])('%s: every field of %s %s is known', (sdk, file, type, check) => {
    const samples = createSdkTypes(join(packages, sdk)).samplesOf(file, type);
    expect(unknown(samples, check)).toEqual([]);
  });

  it('are read whole', () => {
    const [sample] = createSdkTypes(join(packages, 'openai')).samplesOf(
      'resources/chat/completions/completions',
      'ChatCompletionCreateParamsBase',
    );
    expect(sample).toMatchObject({
      temperature: [],
      messages: expect.arrayContaining([
        expect.objectContaining({
          role: 'user',
          content: expect.arrayContaining([
            { type: 'text', text: [], prompt_cache_breakpoint: expect.any(Array) },
          ]),
        }),
        expect.objectContaining({
          role: 'assistant',
          tool_calls: expect.arrayContaining([
            expect.objectContaining({ function: [{ arguments: [], name: [] }] }),
          ]),
        }),
      ]),
    });
    expect(unknown([{ ...sample, colour: 1 }], checkChatRequest)).toEqual(['colour']);
  });
});

it.each(Object.entries(flavorTraits))('knows the request fields of the flavor %s', (_, { fields, names }) => {
  const body = Object.fromEntries([...fields, ...Object.keys(names)].map((name) => [name, null]));
  expect(unknown([body], checkChatRequest)).toEqual([]);
});
