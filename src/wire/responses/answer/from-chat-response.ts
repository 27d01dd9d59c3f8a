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
  const output = new OutputBuilder({ responseId: begun.id, newCallId });
  output.reasoning(message.reasoning ?? message.reasoning_content ?? '');
  output.text(message.content ?? '', logprobs?.content ?? []);
  output.refusal(message.refusal ?? '');
  for (const [key, { id, function: called }] of (message.tool_calls ?? []).entries())
    output.call({ key, id, name: called.name, own: own.get(called.name), arguments: called.arguments });
  output.close(incompleteReason(finish) === null ? 'completed' : 'incomplete');
  const { model, usage } = response;
  return answered(begun, { model, output: output.items, finish, usage, at });
}
