import { requestedModel, array, object, orNull, anyObject, stringOrNull } from '../../schema/schema.ts';
import type { JsonBody } from '../../json/json-body.ts';
import { faultsError, parseBody, validator } from '../../schema/validate.ts';
import { summaryPrompt } from '../compaction.ts';
import { checkResponsesRequest } from './request.ts';
import type { InputItem, ResponsesRequest } from '../responses.ts';

/** Body of `POST /v1/responses/compact`. Other fields are ignored. */
export const compactRequestSchema = object(
  {
    model: requestedModel,
    'input?': {
      type: ['string', 'array', 'null'],
      description: 'As on /v1/responses. Required without previous_response_id.',
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
    add('input', 'nothing to compact: send input, previous_response_id, or both');
});

/** Fields of the prompt. They are kept so that it starts like the previous turn's, which the engine may have cached. */
const promptFields = ['model', 'instructions', 'previous_response_id', 'tools', 'reasoning'] as const;

/** Reads a request to compact, as a request for a summary of the conversation. @throws ApiError `validation_error` (422) */
export function parseCompactRequest(text: string): JsonBody<ResponsesRequest> {
  const { value: body } = parseBody<Body>(text, check);
  const request: ResponsesRequest = {
    ...(Object.fromEntries(promptFields.map((name) => [name, body[name]])) as { model: string }),
    input: [...itemsOf(body.input), { role: 'user', content: summaryPrompt }],
    tool_choice: 'none',
    store: false,
  };
  const faults = checkResponsesRequest(request);
  if (faults.length > 0) throw faultsError(faults);
  return { value: request, text };
}

function itemsOf(input: ResponsesRequest['input'] | null | undefined): InputItem[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? []);
}
