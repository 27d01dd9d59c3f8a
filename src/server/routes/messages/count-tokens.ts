import { parseCountTokensRequest } from '../../../wire/messages/request.ts';
import { countTokensRequestSchema } from '../../../wire/messages/request-schema.ts';
import { tokenCountSchema } from '../../../wire/messages/response-schema.ts';
import { toChatRequest } from '../../../wire/messages/to-chat-request.ts';
import { movedError } from '../../../wire/places.ts';
import { json } from '../../answer.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/messages/count_tokens`: what a message would cost to read, without generating it. */
export const countTokens: Route = {
  method: 'POST',
  path: '/v1/messages/count_tokens',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Count Tokens',
    summary: 'Count the tokens of a messages request; estimated from its bytes where the engine cannot tell',
    tag: 'Generation',
    body: countTokensRequestSchema,
    answer: { status: 200, type: 'application/json', schema: tokenCountSchema },
  },
  async handle({ body, caller, signal }, { generate }) {
    const { chat, places } = toChatRequest(parseCountTokensRequest(body.text));
    const tokens = await generate.countTokens(chat, { caller, signal }).catch((error: unknown) => {
      throw movedError(error, chat, places);
    });
    return json(200, { input_tokens: tokens });
  },
};
