import { ApiError } from '../core/errors.ts';
import type { Model, ModelInput } from '../core/model.ts';
import type { Engine } from '../engines/engines.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { imageUrlPaths, imageUrlsOff } from '../wire/chat/request/image-urls.ts';
import { type AddFault, collectFaults } from '../wire/schema/validate.ts';

/** What an engine must take for a part of a message. Text is taken by all. */
const needs: Readonly<Record<string, ModelInput>> = {
  image_url: 'image',
  input_audio: 'audio',
  file: 'file',
};

const noTools =
  'the model behind this server calls no tools of its own choice; force one with tool_choice, or ask another model';

const named: Readonly<Record<ModelInput, string>> = { image: 'images', audio: 'audio', file: 'files' };

/**
 * Refuses what the engine cannot take: left out silently, the answer would be about something else.
 * @throws ApiError `validation_error` (422) with every part that is too much
 */
export function requireModalities(
  request: ChatRequest,
  engine: Pick<Engine, 'capabilities'>,
  model: Pick<Model, 'imageUrls'>,
): void {
  const { messages, tools, tool_choice: choice = 'auto' } = request;
  requireNone((add) => {
    // A call that must be made is made of JSON, and with `none` no tools are sent.
    if (choice === 'auto' && tools?.length && engine.capabilities.tools === false) add('tools', noTools);
    for (const [at, { custom }] of (tools ?? []).entries())
      if (custom?.format?.grammar?.syntax === 'lark' && !engine.capabilities.customTools)
        add(
          `tools[${at}].custom.format.grammar.syntax`,
          'expected "regex", the only grammar that is held for this model: describe it in the description',
        );
    for (const [at, { content }] of messages.entries()) {
      if (typeof content === 'string') continue;
      for (const [index, { type }] of (content ?? []).entries()) {
        const input = needs[type];
        if (input !== undefined && !engine.capabilities.inputs.includes(input))
          add(`messages[${at}].content[${index}]`, `this model takes no ${named[input]}`);
      }
    }
    addImageUrls(request, model, add);
  });
}

/** Refuses images at an address, unless the server of the model fetches them. @throws ApiError `validation_error` (422) */
export function requireNoImageUrls(request: ChatRequest, model: Pick<Model, 'imageUrls'>): void {
  requireNone((add) => addImageUrls(request, model, add));
}

function addImageUrls(
  { messages }: ChatRequest,
  { imageUrls = false }: Pick<Model, 'imageUrls'>,
  add: AddFault,
): void {
  if (!imageUrls) for (const place of imageUrlPaths(messages)) add(place, imageUrlsOff);
}

function requireNone(find: (add: AddFault) => void): void {
  const faults = collectFaults(find);
  const [first] = faults;
  if (!first) return;
  const message = `${first.param}: ${first.message}`;
  throw new ApiError('validation_error', message, {
    param: first.param ?? null,
    faults: faults.slice(0, 100),
  });
}
