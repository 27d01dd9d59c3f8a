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
import { checkedUsage, type UsageOptions, type UsageReader } from './usage.ts';

export interface ReadOptions extends UsageOptions {
  choices: number;
  /** Requested alternatives of each token. */
  alternatives: number;
  /** Makes ids for tool calls without one. */
  newCallId: () => string;
  usageOf: UsageReader;
  /** Configured finish reasons of the server. */
  finishes: CustomTraits['finish'] | undefined;
}

/** Reads a chat completion, lenient about missing parts (F28 to F31). @throws ApiError `invalid_upstream_response` */
export function readChatResponse(fields: Fields, options: ReadOptions): ChatResponse {
  const given = givenChoices(fields, options.choices);
  const choices = given.map((choice, at) => readChoice(fieldsOf(choice), fields, at, options));
  const usage = options.usageOf(fields);
  requireEnd(given, usage);
  const estimateAnswer = () => estimateText(choices.map(({ message }) => generatedText(message)).join(''));
  const response: ChatResponse = {
    id: stringOr(fields['id'], ''),
    object: 'chat.completion',
    created: createdOf(fields),
    model: stringOr(fields['model'], ''),
    choices,
    usage: checkedUsage(usage, { ...options, estimateAnswer }),
  };
  if (typeof fields['system_fingerprint'] === 'string')
    response.system_fingerprint = fields['system_fingerprint'];
  return response;
}

/** Rejects an answer without finish reasons and tokens: Ollama aborts models that repeat themselves. */
export function requireEnd(choices: readonly unknown[], usage: unknown): void {
  const { prompt_tokens: prompt, completion_tokens: completion } = fieldsOf(usage);
  const isEndless = prompt === 0 && completion === 0;
  if (isEndless && choices.some((choice) => fieldsOf(choice)['finish_reason'] === null))
    throw unusable('was aborted');
}

export function createdOf({ created }: Fields): number {
  return typeof created === 'number' && Number.isFinite(created) ? Math.floor(created) : 0;
}

function readChoice(choice: Fields, answer: Fields, at: number, options: ReadOptions): ChatChoice {
  const { index, message, logprobs, finish_reason } = choice;
  const read = readMessage(fieldsOf(message), options);
  const finish = finishReason(finish_reason, read.tool_calls !== undefined, options);
  // Gemini omits the message where its filter removed it.
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
  const { content, reasoning } = textsIn(given);
  const message: AssistantMessage = {
    role: 'assistant',
    content: content === null ? null : unicode(content, repairs),
    refusal: unicode(stringOr(given['refusal'], ''), repairs) || null,
  };
  if (reasoning !== '') message.reasoning = message.reasoning_content = unicode(reasoning, repairs);
  const details = reasoningDetails(given['reasoning_details']);
  if (details.length > 0) message.reasoning_details = details;
  const ids = new Set<string>();
  const calls = toolCallsOf(given).map((call) => readToolCall(call, newCallId, repairs));
  for (const call of calls) {
    // Clients match results to calls by their ids.
    if (ids.has(call.id)) call.id = newCallId();
    ids.add(call.id);
  }
  if (calls.length > 0) message.tool_calls = calls;
  return message;
}

/** Text (null if missing) and reasoning of a message or a delta, also in parts (Mistral) or only in details (MiniMax). */
export function textsIn(message: Fields): { content: string | null; reasoning: string } {
  const { content, reasoning, reasoning_content: older, reasoning_details: details } = message;
  const thought = stringOr(reasoning ?? older, '') || textOfDetails(reasoningDetails(details));
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

/** Tool calls of a message or a delta; some servers still send a `function_call`. */
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

/** Signature of a call, which must be returned with it. */
export function signatureOf({ extra_content: extra }: Fields): Pick<ToolCall, 'extra_content'> {
  return isObject(extra) ? { extra_content: extra } : {};
}

export function argumentsText(json: unknown): string {
  if (typeof json === 'string') return json === '' ? '{}' : json;
  return json === undefined || json === null ? '{}' : JSON.stringify(json);
}
