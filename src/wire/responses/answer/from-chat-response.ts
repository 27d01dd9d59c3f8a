import type { ChatResponse } from '../../chat/chat.ts';
import type { ClientNames } from '../client-tools.ts';
import { OutputBuilder } from './output-builder.ts';
import { finishResponse, incompleteReason } from './response-body.ts';
import type { ResponseBody } from '../responses.ts';

/** Converts a chat completion. Reasoning, text and calls become items; a call has no empty message beside it. @param at Unix seconds */
export function fromChatResponse(
  begun: ResponseBody,
  response: ChatResponse,
  {
    at,
    newCallId,
    clientNames = new Map(),
  }: { at: number; newCallId: () => string; clientNames?: ClientNames },
): ResponseBody {
  const { message, finish_reason: finish, logprobs } = response.choices[0]!;
  const output = new OutputBuilder({ responseId: begun.id, newCallId, clientNames });
  const calls = message.tool_calls?.map((call, index) => ({ index, ...call }));
  output.add(message, logprobs?.content ?? [], calls);
  output.close(incompleteReason(finish) === null ? 'completed' : 'incomplete');
  const { model, usage } = response;
  return finishResponse(begun, { model, output: output.items, finish, usage, at });
}
