import type { Capabilities } from '../../engines/engines.ts';
import type { ChatRequest } from '../../wire/chat/chat.ts';
import { type AnswerRule, guaranteedTools, answerRule } from '../../wire/chat/answer-rule.ts';

/** What a call is filtered by. */
export type CallRule = Pick<AnswerRule, 'names' | 'maxCalls'>;

/** Whether any answer is right: nothing is said of calls, nor of the content. */
export function needsNoGuarantee({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
  response_format: format,
}: ChatRequest): boolean {
  return !tools && !choice && parallel !== false && !format;
}

/** Whether the engine writes nothing else by itself, so that the answer may be seen as it comes. */
export function isEngineEnforced({ kind }: AnswerRule, { jsonSchema, forcedTool }: Capabilities): boolean {
  return kind === 'text' || (kind === 'call' ? forcedTool : jsonSchema) === 'exact';
}

/** Whether the engine itself keeps all that is promised, so that nobody has to look at the answer. */
export function engineGuarantees(chat: ChatRequest, { jsonSchema, forcedTool }: Capabilities): boolean {
  const { kind, maxCalls } = answerRule(chat);
  const hasFormat = (chat.response_format?.type ?? 'text') !== 'text';
  const ofCalls = kind === 'call' || maxCalls !== Infinity || guaranteedTools(chat).size > 0;
  return (!ofCalls || forcedTool === 'exact') && (!hasFormat || jsonSchema === 'exact');
}

/** Whether there are calls that an answer may not hold, or must end with. */
export function restrictsCalls({ kind, names, maxCalls }: AnswerRule): boolean {
  return kind === 'call' || names !== null || maxCalls !== Infinity;
}
