import { omitNullish } from '../../../base/fields.ts';
import { invalid } from '../../../core/errors.ts';
import type { ChatRequest, ResponseFormat } from '../../chat/chat.ts';
import type { PathMap } from '../../shared/path-map.ts';
import type { MessagesRequest, OutputFormat } from '../messages.ts';
import { toChatMessages } from './to-chat-messages.ts';
import { toChatTools } from './to-chat-tools.ts';

/** Budgets up to which thinking counts as low, and as medium. */
const lowBudget = 4_096;
const mediumBudget = 16_384;

/**
 * A checked messages request as a chat request (wire-formats.md, section 2). What chat has no word for is left out.
 * @throws ApiError `validation_error` (422) when nothing is left
 */
export function toChatRequest(request: MessagesRequest) {
  /** Where its parts stood, for errors. */
  const paths: PathMap = new Map([
    ['max_completion_tokens', 'max_tokens'],
    ['stop', 'stop_sequences'],
    ['reasoning_effort', 'thinking'],
  ]);
  const messages = toChatMessages(request, paths);
  if (messages.length === 0) throw invalid('messages', 'nothing is said in them that could be answered');
  const { stop_sequences: stops } = request;
  const chat: ChatRequest = {
    model: request.model,
    messages,
    ...omitNullish({
      max_completion_tokens: request.max_tokens,
      temperature: request.temperature,
      top_p: request.top_p,
      top_k: request.top_k,
      stop: stops?.length ? stops : null,
      ...toChatTools(request, paths),
      response_format: responseFormat(request, paths),
      reasoning_effort: reasoningEffort(request),
      thinking_budget_tokens: thinkingBudget(request),
      cache_control: request['cache_control'],
    }),
    ...(request.stream === true && { stream: true, stream_options: { include_usage: true } }),
  };
  return { chat, paths };
}

function responseFormat(
  { output_config: config, output_format: older }: MessagesRequest,
  paths: PathMap,
): ResponseFormat | undefined {
  if (config?.format) return toResponseFormat(config.format, 'output_config.format', paths);
  return older ? toResponseFormat(older, 'output_format', paths) : undefined;
}

function toResponseFormat({ schema }: OutputFormat, place: string, paths: PathMap): ResponseFormat {
  const json_schema = { name: 'response', strict: true, schema };
  paths.set(json_schema, place);
  return { type: 'json_schema', json_schema };
}

/**
 * How hard the model shall think, in chat's words; undefined leaves it to the model. An effort that is told wins over one
 * guessed from a budget.
 */
function reasoningEffort({ thinking, output_config: config }: MessagesRequest): string | undefined {
  if (thinking?.type === 'disabled') return 'none';
  if (config?.effort) return config.effort;
  const budget = thinkingBudget({ thinking });
  if (budget === undefined) return undefined;
  if (budget <= lowBudget) return 'low';
  return budget <= mediumBudget ? 'medium' : 'high';
}

/** The budget itself, for engines that can be told. */
function thinkingBudget({ thinking }: Pick<MessagesRequest, 'thinking'>): number | undefined {
  return thinking?.type === 'enabled' ? (thinking.budget_tokens ?? undefined) : undefined;
}
