import type { Capabilities } from '../../engines/engines.ts';
import type { ChatRequest } from '../../wire/chat/chat.ts';
import { type AnswerRule, guaranteedTools, answerRule } from '../../wire/chat/answer-rule.ts';

/** The calls that an answer may hold. */
export type CallRule = Pick<AnswerRule, 'names' | 'maxCalls'>;

/** True if any answer is right: the request restricts neither calls nor content. */
export function needsNoGuarantee({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
  response_format: format,
}: ChatRequest): boolean {
  return !tools && !choice && parallel !== false && !format;
}

/** True if the engine cannot write anything else, so that the answer can be streamed as it is generated. */
export function isEngineEnforced({ kind }: AnswerRule, { jsonSchema, forcedTool }: Capabilities): boolean {
  return kind === 'text' || (kind === 'call' ? forcedTool : jsonSchema) === 'exact';
}

/** True if the engine enforces all guarantees, so that the answer need not be checked. */
export function engineGuarantees(chat: ChatRequest, { jsonSchema, forcedTool }: Capabilities): boolean {
  const { kind, maxCalls } = answerRule(chat);
  const hasFormat = (chat.response_format?.type ?? 'text') !== 'text';
  const ofCalls = kind === 'call' || maxCalls !== Infinity || guaranteedTools(chat).size > 0;
  return (!ofCalls || forcedTool === 'exact') && (!hasFormat || jsonSchema === 'exact');
}

/** True if the request restricts or requires calls. */
export function restrictsCalls({ kind, names, maxCalls }: AnswerRule): boolean {
  return kind === 'call' || names !== null || maxCalls !== Infinity;
}
