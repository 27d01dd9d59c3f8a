import {
  compactRequestSchema,
  parseCompactRequest,
} from '../../../wire/responses/request/compact-request.ts';
import { compactedSchema } from '../../../wire/responses/answer/response-schema.ts';
import { json } from '../../answer.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/responses/compact`: a conversation in fewer tokens, to be sent as `input` again. */
export const compactResponse: Route = {
  method: 'POST',
  path: '/v1/responses/compact',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Compact Response',
    summary: 'Sum up what was said and done in a conversation; the output is the input to go on from',
    tag: 'Generation',
    body: compactRequestSchema,
    answer: { status: 200, type: 'application/json', schema: compactedSchema },
  },
  async handle({ body, caller, requestId, signal, answers }, { responses }) {
    const request = parseCompactRequest(body.text);
    return json(200, await responses.compact(request, { caller, requestId, signal, answers }));
  },
};
