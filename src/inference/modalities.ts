import { ApiError } from '../core/errors.ts';
import type { Model, ModelInput } from '../core/model.ts';
import type { Engine } from '../engines/engines.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { imageUrlPaths, imageUrlsOff } from '../wire/chat/request/image-urls.ts';
import { type AddFault, collectFaults } from '../wire/schema/validate.ts';

/** Modality of a content part; text needs none. */
const needs: Record<string, ModelInput> = { image_url: 'image', input_audio: 'audio', file: 'file' };

const noTools = 'this model cannot choose tools by itself; force one with tool_choice, or use another model';

const labels: Readonly<Record<ModelInput, string>> = { image: 'images', audio: 'audio', file: 'files' };

/**
 * Rejects parts that the engine cannot process; dropped silently, they would change the question.
 * @throws ApiError `validation_error` (422) with a fault for each part
 */
export function requireModalities(
  request: ChatRequest,
  engine: Pick<Engine, 'capabilities'>,
  model: Pick<Model, 'imageUrls'>,
): void {
  const { messages, tools, tool_choice: choice = 'auto' } = request;
  throwFaults((add) => {
    // A forced call is emulated as JSON, and `none` sends no tools.
    if (choice === 'auto' && tools?.length && engine.capabilities.tools === false) add('tools', noTools);
    for (const [at, { custom }] of (tools ?? []).entries())
      if (custom?.format?.grammar?.syntax === 'lark' && !engine.capabilities.customTools)
        add(
          `tools[${at}].custom.format.grammar.syntax`,
          'expected "regex", the only grammar that this model supports; put other grammars into the description',
        );
    for (const [at, { content }] of messages.entries()) {
      if (typeof content === 'string') continue;
      for (const [index, { type }] of (content ?? []).entries()) {
        const input = needs[type];
        if (input !== undefined && !engine.capabilities.inputs.includes(input))
          add(`messages[${at}].content[${index}]`, `this model takes no ${labels[input]}`);
      }
    }
    addImageUrls(request, model, add);
  });
}

/** Rejects image URLs unless the model's server fetches them. @throws ApiError `validation_error` (422) */
export function requireNoImageUrls(request: ChatRequest, model: Pick<Model, 'imageUrls'>): void {
  throwFaults((add) => addImageUrls(request, model, add));
}

function addImageUrls(
  { messages }: ChatRequest,
  { imageUrls = false }: Pick<Model, 'imageUrls'>,
  add: AddFault,
): void {
  if (!imageUrls) for (const path of imageUrlPaths(messages)) add(path, imageUrlsOff);
}

/** Rejects images by URL, at these paths, unless the model's server fetches them. @throws ApiError `validation_error` (422) */
export function refuseImageUrls(
  paths: Iterable<string>,
  { imageUrls = false }: Pick<Model, 'imageUrls'>,
): void {
  if (!imageUrls) throwFaults((add) => [...paths].forEach((path) => add(path, imageUrlsOff)));
}

function throwFaults(find: (add: AddFault) => void): void {
  const faults = collectFaults(find).slice(0, 100);
  const [first] = faults;
  if (!first) return;
  const message = `${first.param}: ${first.message}`;
  throw new ApiError('validation_error', message, { param: first.param ?? null, faults });
}
