import type { FinishAnswer, RequestGroup } from '../batches/batch-context.ts';
import type { ApiError } from '../core/errors.ts';
import { familyOf } from '../core/key-family.ts';
import type { ServiceTier } from '../core/service-tier.ts';
import type { AnswerRows } from '../core/stored-answer.ts';
import type { LineResponse } from '../wire/batch/line-response.ts';
import type { BatchLine } from '../wire/batch/read-line.ts';
import { responseError } from '../wire/responses/answer/response-body.ts';
import type { ChatBody } from '../wire/chat/request/body.ts';
import { canonicalChat } from '../wire/chat/request/canonical.ts';
import { storedMetadata } from '../wire/chat/stored-chat.ts';
import type { ResponseBody } from '../wire/responses/responses.ts';
import { conversationTurn } from './conversation-turn.ts';
import { ttlMs } from './context.ts';
import { toChatRow, toRow, toTexts } from './stored-body.ts';

/**
 * Completes the answer of a single request that ran as a line of the batch engine: names its tier, and makes the rows of one that is
 * to be stored. Messages name their tier already, and direct answers, such as embeddings, have none.
 */
export const finishAnswer: FinishAnswer = (group, { body, response }, outcome, now) => {
  if (response) {
    const parsed = 'answer' in outcome ? { answer: bodyOf(outcome.answer) } : outcome;
    return finishResponse(ownerOf(group, now), response, parsed);
  }
  if (!('answer' in outcome)) return { rows: {} };
  const { answer } = outcome;
  if (group.endpoint !== '/v1/chat/completions') return { answer, rows: {} };
  const tier = group.tier ?? 'default';
  return finishChat(ownerOf(group, now), body, { ...(answer as FinishedChat), service_tier: tier });
};

/** Owner of a row that is stored at `now`. */
interface RowOwner {
  orgId: string;
  /** Family of the key. */
  keyId: string;
  now: number;
}

function ownerOf(group: RequestGroup, now: number): RowOwner {
  return { orgId: group.orgId, keyId: familyOf(group), now };
}

function bodyOf(answer: object | string): ResponseBody {
  return (typeof answer === 'string' ? JSON.parse(answer) : answer) as ResponseBody;
}

interface FinishedChat {
  service_tier?: ServiceTier;
  id: string;
  model: string;
}

function finishChat(
  owner: RowOwner,
  request: Pick<BatchLine['body'], 'value' | 'text'>,
  answer: FinishedChat,
) {
  const metadata = storedMetadata(request.value);
  if (!metadata) return { answer, rows: {} };
  const { body } = canonicalChat({ value: request.value as unknown as ChatBody, text: request.text });
  const { messages } = body.value;
  return { answer, rows: { chat: toChatRow({ ...owner, ttlMs }, { messages, metadata }, answer, answer) } };
}

function finishResponse(
  { orgId, keyId, now }: RowOwner,
  { begun, input }: LineResponse,
  outcome: { answer: ResponseBody } | { error: ApiError },
) {
  const isAnswered = 'answer' in outcome;
  const answer: ResponseBody = isAnswered
    ? outcome.answer
    : { ...begun, status: 'failed', error: responseError(outcome.error) };
  const rows: AnswerRows = {};
  const texts = toTexts(answer);
  const turn = conversationTurn(answer, input, { orgId, keyId, now, expiresAt: now + ttlMs });
  if (turn) rows.turn = turn;
  if (begun.background) rows.ended = { id: begun.id, end: texts };
  else if (begun.store && isAnswered) {
    const own = JSON.stringify(input);
    const inputBytes = Buffer.byteLength(own);
    rows.response = toRow({ orgId, keyId, input: own, inputBytes, now }, answer, texts);
  }
  return { answer, rows };
}
