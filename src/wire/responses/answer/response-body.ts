import { ApiError } from '../../../core/errors.ts';
import type { ResponseStatus } from '../../../core/response.ts';
import type { ServiceTier } from '../../../core/service-tier.ts';
import type { ChatUsage, FinishReason, ToolChoice } from '../../chat/chat.ts';
import { type ClientTool, presentTools, toolsInEffect } from '../client-tools.ts';
import { conversationOf } from '../request/request.ts';
import { itemsWithTools } from '../stored-items.ts';
import type { OutputItem, ResponseBody, ResponsesRequest, ResponseUsage, TextFormat } from '../responses.ts';

/** Response before the model answers. Numbers are never null. */
export function newResponse(
  request: ResponsesRequest,
  given: { id: string; createdAt: number; model: string; status: ResponseStatus; tier?: ServiceTier },
): ResponseBody {
  const { found, choice } = toolsInEffect(request, itemsWithTools(request));
  const conversation = conversationOf(request);
  const begun: ResponseBody = {
    id: given.id,
    object: 'response',
    created_at: given.createdAt,
    completed_at: null,
    status: given.status,
    background: request.background ?? false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    model: given.model,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: request.reasoning?.summary ?? null },
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    service_tier: given.tier ?? 'default',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    top_p: request.top_p ?? 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: request.top_logprobs ?? 0,
    text: {
      format: presentFormat(request.text?.format),
      verbosity: request.text?.verbosity ?? 'medium',
    },
    tool_choice: presentChoice(choice, found),
    tools: presentTools(request, found),
    truncation: 'disabled',
    usage: null,
  };
  if (conversation !== null) begun.conversation = { id: conversation };
  return begun;
}

export interface ResponseOutcome {
  /** Model that answered, if that was unknown before. */
  model?: string;
  output: OutputItem[];
  finish: FinishReason;
  usage: ChatUsage | null;
  /** Unix seconds. */
  at: number;
}

/** Completes a response; `incomplete` with a reason if the token limit or a filter cut it. */
export function finishResponse(
  begun: ResponseBody,
  { model = begun.model, output, finish, usage, at }: ResponseOutcome,
): ResponseBody {
  const reason = incompleteReason(finish);
  return {
    ...begun,
    model,
    status: reason === null ? 'completed' : 'incomplete',
    completed_at: reason === null ? at : null,
    incomplete_details: reason === null ? null : { reason },
    output,
    usage: usage && responseUsage(usage),
  };
}

export function incompleteReason(finish: FinishReason): 'max_output_tokens' | 'content_filter' | null {
  if (finish === 'length') return 'max_output_tokens';
  return finish === 'content_filter' ? 'content_filter' : null;
}

/** Error of a stored response. The format has fewer codes than ours. */
export function responseError(error: unknown): NonNullable<ResponseBody['error']> {
  if (!(error instanceof ApiError))
    return { code: 'server_error', message: 'Internal error while the response was generated.' };
  const { kind, message } = error;
  if (kind === 'rate') return { code: 'rate_limit_exceeded', message };
  return { code: kind === 'invalid' ? 'invalid_prompt' : 'server_error', message };
}

export function responseUsage(usage: ChatUsage): ResponseUsage {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cached_tokens: usage.prompt_tokens_details.cached_tokens,
      cache_write_tokens: usage.prompt_tokens_details.cache_write_tokens ?? 0,
    },
    output_tokens: usage.completion_tokens,
    // The format has no value for unknown.
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens,
  };
}

function presentChoice(choice: ToolChoice, found: readonly ClientTool[]): ResponseBody['tool_choice'] {
  if (typeof choice !== 'object') return choice;
  const { name } = choice.function;
  return found.find(({ fields }) => fields.name === name)?.clientName ?? { type: 'function', name };
}

function presentFormat(format: TextFormat | null | undefined): TextFormat {
  if (format?.type !== 'json_schema') return { type: format?.type ?? 'text' };
  const { name, schema, strict, description } = format;
  return { type: 'json_schema', name, schema, strict: strict ?? null, description: description ?? null };
}
