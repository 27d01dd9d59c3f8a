import type { ServiceTier } from '../core/service-tier.ts';
import type { AnsweredRequest, AnswerRows, FinishAnswer } from '../core/stored-answer.ts';
import type { ChatBody } from '../wire/chat/request/body.ts';
import { canonicalChat } from '../wire/chat/request/canonical.ts';
import { storedMetadata } from '../wire/chat/stored-chat.ts';
import type { ResponseBody, ResponsesRequest } from '../wire/responses/responses.ts';
import { storedItems } from '../wire/responses/stored-items.ts';
import { conversationTurn } from './conversation-turn.ts';
import { ttlMs } from './context.ts';
import { toTexts } from './stored-body.ts';

/**
 * Completes the answer of a single request that ran as a line of the batch engine: names its tier, and makes the rows of one that is
 * to be stored. Messages name their tier already, and embeddings have none.
 */
export const finishAnswer: FinishAnswer = (answered) => {
  const { endpoint, answer, tier } = answered;
  if (endpoint === '/v1/chat/completions')
    return finishChat(answered, { ...(answer as FinishedChat), service_tier: tier });
  if (endpoint === '/v1/responses') return finishResponse(answered, answer as ResponseBody);
  return { answer, rows: {} };
};

interface FinishedChat {
  service_tier?: ServiceTier;
  id: string;
  model: string;
}

function finishChat({ orgId, keyId, request, now }: AnsweredRequest, answer: FinishedChat) {
  const metadata = storedMetadata(request.value);
  if (!metadata) return { answer, rows: {} };
  const { body } = canonicalChat({ value: request.value as unknown as ChatBody, text: request.text });
  const { id, model } = answer;
  const chat = {
    id,
    orgId,
    keyId,
    createdAt: now,
    expiresAt: now + ttlMs,
    model,
    metadata: JSON.stringify(metadata),
    messages: JSON.stringify(body.value.messages),
    body: JSON.stringify(answer),
  };
  return { answer, rows: { chat } };
}

/** The line has the whole conversation as its input, and was answered as a response that is not stored. */
function finishResponse({ orgId, keyId, request, tier, now }: AnsweredRequest, answered: ResponseBody) {
  const asked = request.value as unknown as ResponsesRequest;
  const answer: ResponseBody = { ...answered, service_tier: tier, store: asked.store ?? true };
  const rows: AnswerRows = {};
  if (!answer.store && !answer.conversation) return { answer, rows };
  const whole = storedItems(asked.input, answer.id);
  const own = whole.slice(asked.history_items ?? 0);
  const times = { now, expiresAt: now + ttlMs };
  const turn = conversationTurn(answer, own, { orgId, keyId, ...times });
  if (turn) rows.turn = turn;
  if (!answer.store) return { answer, rows };
  const input = JSON.stringify(own);
  const texts = toTexts(answer);
  rows.response = {
    id: answer.id,
    orgId,
    keyId,
    previousId: answer.conversation?.id ?? answer.previous_response_id,
    createdAt: now,
    expiresAt: times.expiresAt,
    aliveUntil: null,
    saidBytes: Buffer.byteLength(input) + Buffer.byteLength(texts.output),
    input,
    ...texts,
  };
  return { answer, rows };
}
