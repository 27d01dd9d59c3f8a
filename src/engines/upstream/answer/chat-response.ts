import { freeTextArguments } from '../../../wire/chat/free-text.ts';
import type { AssistantMessage, ChatChoice, ChatResponse, ToolCall } from '../../../wire/chat/chat.ts';
import { generatedText } from '../../../wire/chat/answer/generated-text.ts';
import { reasoningDetails, textOfDetails } from '../../../wire/chat/reasoning-details.ts';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import { type Fields, fieldsOf, isObject, stringOr } from '../../../base/fields.ts';
import { finishReason, stopReason } from './finish-reason.ts';
import { givenChoices } from './given-choices.ts';
import { readLogprobs } from './logprobs.ts';
import { unusable } from '../connection/parse-body.ts';
import { type Repairs, unicode } from '../connection/repairs.ts';
import type { CustomTraits } from '../../../core/flavor.ts';
import { checkedUsage, type Counting, type UsageReader } from './usage.ts';

export interface ReadOptions extends Counting {
  /** Choices that were asked for. */
  wanted: number;
  /** Alternatives of each token that were asked for. */
  alternatives: number;
  /** For tool calls that came without an id. */
  newCallId: () => string;
  /** Where the usage is told. */
  usageOf: UsageReader;
  /** The server's own words for why an answer ended. */
  finishes: CustomTraits['finish'] | undefined;
}

/**
 * A chat completion in the canonical shape, from whatever a server sent as one (reliability.md, F28 to F31): lenient about
 * what is missing, strict about what is not an answer.
 * @throws ApiError `invalid_upstream_response`
 */
export function readChatResponse(fields: Fields, options: ReadOptions): ChatResponse {
  const given = givenChoices(fields, options.wanted);
  const choices = given.map((choice, at) => readChoice(fieldsOf(choice), fields, at, options));
  const told = options.usageOf(fields);
  requireEnd(given, told);
  const answered = () => estimateText(choices.map(({ message }) => generatedText(message)).join(''));
  const response: ChatResponse = {
    id: stringOr(fields['id'], ''),
    object: 'chat.completion',
    created: createdOf(fields),
    model: stringOr(fields['model'], ''),
    choices,
    usage: checkedUsage(told, { ...options, answered }),
  };
  if (typeof fields['system_fingerprint'] === 'string')
    response.system_fingerprint = fields['system_fingerprint'];
  return response;
}

/** Ollama gives up on a model that repeats itself: no reason, and nothing counted. */
export function requireEnd(choices: readonly unknown[], usage: unknown): void {
  const { prompt_tokens: prompt, completion_tokens: completion } = fieldsOf(usage);
  const isEndless = prompt === 0 && completion === 0;
  if (isEndless && choices.some((choice) => fieldsOf(choice)['finish_reason'] === null))
    throw unusable('was broken off by it');
}

export function createdOf({ created }: Fields): number {
  return typeof created === 'number' && Number.isFinite(created) ? Math.floor(created) : 0;
}

function readChoice(choice: Fields, answer: Fields, at: number, options: ReadOptions): ChatChoice {
  const { index, message, logprobs, finish_reason } = choice;
  const read = readMessage(fieldsOf(message), options);
  const finish = finishReason(finish_reason, read.tool_calls !== undefined, options);
  // Of what its filter took Gemini has no message at all.
  if (!isObject(message) && finish !== 'content_filter') throw unusable(`has no message in choice ${at}`);
  return {
    index: Number.isInteger(index) ? (index as number) : at,
    message: read,
    logprobs: readLogprobs(logprobs, options.repairs, options.alternatives),
    finish_reason: finish,
    ...stopReason(choice, answer),
  };
}

function readMessage(given: Fields, { repairs, newCallId }: ReadOptions): AssistantMessage {
  const { content, reasoning } = saidIn(given);
  const message: AssistantMessage = {
    role: 'assistant',
    content: content === null ? null : unicode(content, repairs),
    refusal: unicode(stringOr(given['refusal'], ''), repairs) || null,
  };
  if (reasoning !== '') message.reasoning = message.reasoning_content = unicode(reasoning, repairs);
  const details = reasoningDetails(given['reasoning_details']);
  if (details.length > 0) message.reasoning_details = details;
  const taken = new Set<string>();
  const calls = toolCallsOf(given).map((call) => readToolCall(call, newCallId, repairs));
  for (const call of calls) {
    // Clients find the call of a result by its id.
    if (taken.has(call.id)) call.id = newCallId();
    taken.add(call.id);
  }
  if (calls.length > 0) message.tool_calls = calls;
  return message;
}

/**
 * The text of a message or a delta, null where it has none, and what was thought. Some servers answer with parts, as requests
 * may, and tell their thoughts among them (Mistral), or in details alone (MiniMax).
 */
export function saidIn(message: Fields): { content: string | null; reasoning: string } {
  const { content, reasoning, reasoning_content: otherName, reasoning_details: details } = message;
  const thought = stringOr(reasoning ?? otherName, '') || textOfDetails(reasoningDetails(details));
  if (typeof content === 'string') return { content, reasoning: thought };
  if (!Array.isArray(content)) return { content: null, reasoning: thought };
  return { content: textOf(content, 'text'), reasoning: thought || textOf(content, 'thinking') };
}

function textOf(parts: readonly unknown[], member: 'text' | 'thinking'): string {
  const texts = parts.map((part) => {
    const value = fieldsOf(part)[member];
    return Array.isArray(value) ? textOf(value, 'text') : stringOr(value, '');
  });
  return texts.join('');
}

/** The calls of a message or a delta; some servers still have one `function_call` there. */
export function toolCallsOf(message: Fields): unknown[] {
  if (Array.isArray(message['tool_calls'])) return message['tool_calls'];
  return isObject(message['function_call']) ? [{ function: message['function_call'] }] : [];
}

function readToolCall(given: unknown, newCallId: () => string, repairs: Repairs): ToolCall {
  const call = fieldsOf(given);
  const { name, arguments: json } = isObject(call['custom'])
    ? { name: call['custom']['name'], arguments: freeTextArguments(stringOr(call['custom']['input'], '')) }
    : fieldsOf(call['function']);
  if (typeof name !== 'string' || name === '') throw unusable('calls a tool without a name');
  return {
    id: stringOr(call['id'], '') || newCallId(),
    type: 'function',
    function: { name, arguments: unicode(argumentsText(json), repairs) },
    ...signatureOf(call),
  };
}

/** What comes with a call that has to come back with it. */
export function signatureOf({ extra_content: extra }: Fields): Pick<ToolCall, 'extra_content'> {
  return isObject(extra) ? { extra_content: extra } : {};
}

export function argumentsText(json: unknown): string {
  if (typeof json === 'string') return json === '' ? '{}' : json;
  return json === undefined || json === null ? '{}' : JSON.stringify(json);
}
