import { omitNullish } from '../../../base/fields.ts';
import { invalid } from '../../../core/errors.ts';
import type { ChatRequest, ResponseFormat } from '../../chat/chat.ts';
import type { PathMap } from '../../shared/path-map.ts';
import type { MessagesRequest, OutputFormat } from '../messages.ts';
import { toChatMessages } from './to-chat-messages.ts';
import { toChatTools } from './to-chat-tools.ts';

/** Highest thinking budgets that count as low and as medium effort. */
const lowBudget = 4_096;
const mediumBudget = 16_384;

/** Converts a checked messages request; fields without equivalent are dropped. @throws ApiError `validation_error` (422) if no message remains */
export function toChatRequest(request: MessagesRequest) {
  const paths: PathMap = new Map([
    ['max_completion_tokens', 'max_tokens'],
    ['stop', 'stop_sequences'],
    ['reasoning_effort', 'thinking'],
  ]);
  const messages = toChatMessages(request, paths);
  if (messages.length === 0) throw invalid('messages', 'contain nothing to answer');
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

function toResponseFormat({ schema }: OutputFormat, path: string, paths: PathMap): ResponseFormat {
  const json_schema = { name: 'response', strict: true, schema };
  paths.set(json_schema, path);
  return { type: 'json_schema', json_schema };
}

/** Reasoning effort; undefined leaves it to the model. An explicit effort takes precedence over one derived from a budget. */
function reasoningEffort({ thinking, output_config: config }: MessagesRequest): string | undefined {
  if (thinking?.type === 'disabled') return 'none';
  if (config?.effort) return config.effort;
  const budget = thinkingBudget({ thinking });
  if (budget === undefined) return undefined;
  if (budget <= lowBudget) return 'low';
  return budget <= mediumBudget ? 'medium' : 'high';
}

/** Thinking budget in tokens, for engines that support one. */
function thinkingBudget({ thinking }: Pick<MessagesRequest, 'thinking'>): number | undefined {
  return thinking?.type === 'enabled' ? (thinking.budget_tokens ?? undefined) : undefined;
}
