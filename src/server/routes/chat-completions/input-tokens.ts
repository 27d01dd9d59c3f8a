import { parseChatRequest } from '../../../wire/chat/request.ts';
import { chatRequestSchema } from '../../../wire/chat/request-schema.ts';
import { tokenCountSchema } from '../../../wire/messages/response-schema.ts';
import { movedError } from '../../../wire/places.ts';
import { json } from '../../answer.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/chat/completions/input_tokens`: what a request would cost to read. llama-server has the same path. */
export const countChatTokens: Route = {
  method: 'POST',
  path: '/v1/chat/completions/input_tokens',
  access: 'inference',
  body: { maxBytes: (limits) => limits.bodyBytes },
  docs: {
    name: 'Count Chat Tokens',
    summary: 'Count the tokens of a chat request; estimated from its bytes where the engine cannot tell',
    tag: 'Generation',
    body: chatRequestSchema,
    answer: { status: 200, type: 'application/json', schema: tokenCountSchema },
  },
  async handle({ body, caller, signal }, { generate }) {
    const { body: request, places } = parseChatRequest(body.text);
    const tokens = await generate.countTokens(request.value, { caller, signal }).catch((error: unknown) => {
      throw movedError(error, request.value, places);
    });
    return json(200, { input_tokens: tokens });
  },
};
