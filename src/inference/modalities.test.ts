import { expect, it } from 'vitest';
import type { ApiError } from '../core/errors.ts';
import type { ModelInput } from '../core/model.ts';
import type { Capabilities } from '../engines/engines.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { requireModalities } from './modalities.ts';

const text = { type: 'text', text: 'What is it?' };
const parts = {
  image: { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
  audio: { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
  file: { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==' } },
};

const tools: NonNullable<ChatRequest['tools']> = [{ type: 'function', function: { name: 'look' } }];

it.each<[ChatRequest['tool_choice'], boolean | undefined, string[]]>([
  [undefined, false, ['tools']],
  ['auto', false, ['tools']],
  ['required', false, []],
  [{ type: 'function', function: { name: 'look' } }, false, []],
  ['none', false, []],
  ['auto', true, []],
  ['auto', undefined, []],
])('refuses tools that a model may choose and cannot: %j of one that can: %j', (choice, can, refused) => {
  const request: ChatRequest = {
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tools,
    ...(choice && { tool_choice: choice }),
  };
  const capabilities = { inputs: [], ...(can !== undefined && { tools: can }) } as unknown as Capabilities;
  const params = () => {
    try {
      requireModalities(request, { capabilities }, {});
      return [];
    } catch (error) {
      return (error as ApiError).faults.map(({ param }) => param);
    }
  };
  expect(params()).toEqual(refused);
});

it.each([
  ['lark', undefined, ['tools[1].custom.format.grammar.syntax']],
  ['lark', false, ['tools[1].custom.format.grammar.syntax']],
  ['lark', true, []],
  ['regex', undefined, []],
])(
  'refuses the grammar that the engine cannot hold: %s where it takes such tools: %j',
  (syntax, can, refused) => {
    const format = { type: 'grammar', grammar: { syntax, definition: 'x' } };
    const edit = { type: 'function' as const, function: { name: 'edit' }, custom: { name: 'edit', format } };
    const request: ChatRequest = { model: 'm', messages: [], tools: [...tools, edit] };
    const capabilities = {
      inputs: [],
      ...(can !== undefined && { customTools: can }),
    } as unknown as Capabilities;
    const params = () => {
      try {
        requireModalities(request, { capabilities }, {});
        return [];
      } catch (error) {
        return (error as ApiError).faults.map(({ param }) => param);
      }
    };
    expect(params()).toEqual(refused);
  },
);

function refusedBy(
  inputs: ModelInput[],
  content: ChatRequest['messages'][number]['content'],
  model: { imageUrls?: boolean } = {},
): string[] {
  const messages: ChatRequest['messages'] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: content! },
    { role: 'assistant', content: null },
  ];
  try {
    requireModalities(
      { model: 'm', messages },
      { capabilities: { inputs } as Pick<Capabilities, 'inputs'> as Capabilities },
      model,
    );
    return [];
  } catch (error) {
    const { status, faults } = error as ApiError;
    expect(status).toBe(422);
    return faults.map(({ param, message }) => `${param}: ${message}`);
  }
}

it('accepts text, and the modalities of the engine', () => {
  expect(refusedBy([], 'hi')).toEqual([]);
  expect(refusedBy([], [text, { type: 'refusal', refusal: 'no' }])).toEqual([]);
  expect(refusedBy(['image', 'audio', 'file'], Object.values(parts))).toEqual([]);
});

it('refuses every part that the engine does not take, by its place', () => {
  expect(refusedBy(['audio'], [text, parts.image, parts.audio, parts.file])).toEqual([
    'messages[1].content[1]: this model takes no images',
    'messages[1].content[3]: this model takes no files',
  ]);
  expect(refusedBy([], [parts.audio])).toEqual(['messages[1].content[0]: this model takes no audio']);
});

it('refuses images at an address, unless the server of the model fetches them', () => {
  const remote = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  expect(refusedBy(['image'], [parts.image, remote])).toEqual([
    expect.stringMatching(/^messages\[1\]\.content\[1\]: image URLs are not fetched: .* image_urls: true/),
  ]);
  expect(refusedBy(['image'], [parts.image, remote], { imageUrls: true })).toEqual([]);
  expect(refusedBy([], [remote], { imageUrls: true })).toEqual([
    'messages[1].content[0]: this model takes no images',
  ]);
});
