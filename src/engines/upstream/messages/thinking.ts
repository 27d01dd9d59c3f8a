import type { ChatRequest } from '../../../wire/chat/chat.ts';
import type { MessagesRequest } from '../../../wire/messages/messages.ts';

/** Models with a thinking budget; later ones refuse it and take an effort. */
const byBudget = /claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$)/;

const budgets: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 31_999,
};

const minBudget = 1_024;

/** Adds the reasoning effort. Thinking excludes forced calls and any temperature but the default. */
export function withThinking(
  request: MessagesRequest,
  { reasoning_effort: effort, thinking_budget_tokens: budget }: ChatRequest,
): MessagesRequest {
  const isOlder = byBudget.test(request.model);
  if (effort === 'none') return isOlder ? request : { ...request, thinking: { type: 'disabled' } };
  if (isOlder) return withBudget(request, budget ?? budgets[effort ?? ''] ?? 0);
  if (!effort) return request;
  const output_config = { ...request.output_config, effort: effort === 'minimal' ? 'low' : effort };
  if (isForced(request)) return { ...request, output_config };
  return { ...unsampled(request), output_config, thinking: { type: 'adaptive', display: 'summarized' } };
}

/** Adds a budget of at most half the limit. A turn that continues after a call would need signed thinking. */
function withBudget(request: MessagesRequest, budget: number): MessagesRequest {
  const budget_tokens = Math.min(budget, Math.floor((request.max_tokens ?? 0) / 2));
  if (budget_tokens < minBudget || isForced(request) || isAfterCall(request)) return request;
  return { ...unsampled(request), thinking: { type: 'enabled', budget_tokens } };
}

function isForced({ tool_choice: choice }: MessagesRequest): boolean {
  return choice?.type === 'any' || choice?.type === 'tool';
}

function isAfterCall({ messages }: MessagesRequest): boolean {
  const content = messages.at(-1)?.content;
  return Array.isArray(content) && content.some(({ type }) => type === 'tool_result');
}

function unsampled(request: MessagesRequest): MessagesRequest {
  const rest = { ...request };
  for (const name of ['temperature', 'top_p', 'top_k']) delete rest[name];
  return rest;
}
