import type { ChatResponse } from '../../chat/chat.ts';
import type { OwnNames } from '../client-tools.ts';
import { OutputBuilder } from './output-builder.ts';
import { answered, incompleteReason } from './response-body.ts';
import type { ResponseBody } from '../responses.ts';

/**
 * The response that a chat completion makes. Reasoning, text and calls become items of their own; there is no empty message
 * beside a call.
 * @param at Unix seconds
 */
export function fromChatResponse(
  begun: ResponseBody,
  response: ChatResponse,
  { at, newCallId, own = new Map() }: { at: number; newCallId: () => string; own?: OwnNames },
): ResponseBody {
  const { message, finish_reason: finish, logprobs } = response.choices[0]!;
  const output = new OutputBuilder({ responseId: begun.id, newCallId, own });
  const calls = message.tool_calls?.map((call, index) => ({ index, ...call }));
  output.add(message, logprobs?.content ?? [], calls);
  output.close(incompleteReason(finish) === null ? 'completed' : 'incomplete');
  const { model, usage } = response;
  return answered(begun, { model, output: output.items, finish, usage, at });
}
