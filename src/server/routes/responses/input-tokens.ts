import { parseResponsesRequest } from '../../../wire/responses/request/request.ts';
import { responsesRequestSchema } from '../../../wire/responses/request/request-schema.ts';
import { inputTokensSchema } from '../../../wire/responses/answer/response-schema.ts';
import { json } from '../../answer.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/responses/input_tokens`: what a request would cost to read, without running it. */
export const countInputTokens: Route = {
  method: 'POST',
  path: '/v1/responses/input_tokens',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Count Input Tokens',
    summary: 'Count the tokens of a responses request; estimated from its bytes where the engine cannot tell',
    tag: 'Generation',
    body: responsesRequestSchema,
    answer: { status: 200, type: 'application/json', schema: inputTokensSchema },
  },
  async handle({ body, caller, signal }, { responses }) {
    const tokens = await responses.countInput(parseResponsesRequest(body.text), { caller, signal });
    return json(200, { object: 'response.input_tokens', input_tokens: tokens });
  },
};
