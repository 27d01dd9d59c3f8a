import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { directFormats } from '../../src/wire/direct/direct-formats.ts';
import { chatResponseSchema } from '../../src/wire/chat/answer/response-schema.ts';
import { messageSchema, tokenCountSchema } from '../../src/wire/messages/answer/response-schema.ts';
import { inputTokensSchema, responseSchema } from '../../src/wire/responses/answer/response-schema.ts';

/** Body or event, read like a client does. An unexpected shape is a fault. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const shapes: Record<string, ValidateFunction> = {
  '/v1/chat/completions': ajv.compile(chatResponseSchema),
  '/v1/responses': ajv.compile(responseSchema),
  '/v1/messages': ajv.compile(messageSchema),
  '/v1/messages/count_tokens': ajv.compile(tokenCountSchema),
  '/v1/chat/completions/input_tokens': ajv.compile(tokenCountSchema),
  '/v1/responses/input_tokens': ajv.compile(inputTokensSchema),
  ...Object.fromEntries(
    Object.values(directFormats).map(({ endpoint, responseSchema: schema }) => [
      endpoint,
      ajv.compile(schema),
    ]),
  ),
};

/** Returns the fault of the body of a 200, or undefined. */
export function findBodyFault(path: string, body: Json): string | undefined {
  const shape = shapes[path]!;
  const fits: boolean = shape(body);
  if (!fits) return `not the shape of its format: ${ajv.errorsText(shape.errors)}`;
  if (path === '/v1/chat/completions') {
    for (const { message, finish_reason: finish } of body.choices) {
      const calls = message.function_call ? 'function_call' : message.tool_calls && 'tool_calls';
      if (finish !== 'length' && (calls ?? finish) !== finish) return `finish_reason is ${finish}`;
      if (!calls && /call/.test(finish)) return `finish_reason is ${finish} without a call`;
    }
  }
  if (path === '/v1/messages') {
    const calls = body.content.some((block: Json) => block.type === 'tool_use');
    if (body.stop_reason !== 'max_tokens' && (body.stop_reason === 'tool_use') !== calls)
      return `stop_reason is ${body.stop_reason}`;
    if (body.content.some((block: Json) => block.type === 'text' && block.text === ''))
      return 'an empty text block';
  }
  if (path === '/v1/responses') {
    const isBackground = body.background === true;
    if (!(isBackground ? ['queued'] : ['completed', 'incomplete']).includes(body.status))
      return `status is ${body.status}`;
    if ((body.incomplete_details !== null) !== (body.status === 'incomplete'))
      return 'incomplete without a reason';
    if (!isBackground && body.usage === null) return 'no usage';
  }
  return undefined;
}
