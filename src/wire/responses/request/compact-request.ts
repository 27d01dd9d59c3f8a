import { requestedModel, array, object, orNull, anyObject, stringOrNull } from '../../schema/schema.ts';
import type { JsonBody } from '../../json/json-body.ts';
import { faultsError, parseBody, validator } from '../../schema/validate.ts';
import { summaryPrompt } from '../compaction.ts';
import { checkResponsesRequest } from './request.ts';
import type { InputItem, ResponsesRequest } from '../responses.ts';

/** What `POST /v1/responses/compact` takes; what else comes along is not looked at. */
export const compactRequestSchema = object(
  {
    model: requestedModel,
    'input?': {
      type: ['string', 'array', 'null'],
      description: 'As on /v1/responses. This, or previous_response_id, or both.',
      items: anyObject(),
    },
    'previous_response_id?': stringOrNull(),
    'instructions?': stringOrNull(),
    'tools?': orNull(array(anyObject())),
  },
  { title: 'CompactRequest' },
);

type Body = Partial<ResponsesRequest> & { model: string };

const check = validator(compactRequestSchema, (body: Body, add) => {
  if (itemsOf(body.input).length === 0 && typeof body.previous_response_id !== 'string')
    add('input', 'nothing to be compacted: send input, previous_response_id, or both');
});

/** Those that belong to the prompt: it begins as that of the turn before did, which the engine may still have. */
const kept = ['model', 'instructions', 'previous_response_id', 'tools', 'reasoning'] as const;

/**
 * Reads a request to compact a conversation, as the request for a response that sums it up.
 * @throws ApiError `validation_error` (422)
 */
export function parseCompactRequest(text: string): JsonBody<ResponsesRequest> {
  const { value: asked } = parseBody<Body>(text, check);
  const request: ResponsesRequest = {
    ...(Object.fromEntries(kept.map((name) => [name, asked[name]])) as { model: string }),
    input: [...itemsOf(asked.input), { role: 'user', content: summaryPrompt }],
    tool_choice: 'none',
    store: false,
  };
  const wrong = checkResponsesRequest(request);
  if (wrong.length > 0) throw faultsError(wrong);
  return { value: request, text };
}

function itemsOf(input: ResponsesRequest['input'] | null | undefined): InputItem[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? []);
}
