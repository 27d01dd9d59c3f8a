import type { FinishReason } from '../../../wire/chat/chat.ts';
import type { Fields } from '../../../base/fields.ts';
import type { CustomTraits } from '../../../core/flavor.ts';
import { unusable } from '../connection/parse-body.ts';
import type { Repairs } from '../connection/repairs.ts';

/** Finish reasons of all providers in lower case. `aborted`: the server gave up, and a retry may succeed. */
const words: Readonly<Record<FinishReason | 'aborted', string>> = {
  stop: `stop eos eos_token stop_token stop_str stop_sequence end_turn pause_turn end complete completed done
    finished normal`,
  // The token limit, the context, or a guard against loops (vLLM).
  length: `length max_length model_length max_tokens max_output_tokens max_new_tokens max_completion_tokens
    max_context_length context_length context_length_exceeded context_window_exceeded
    model_context_window_exceeded error_limit incomplete compaction repetition`,
  tool_calls: 'tool_calls tool_call tool_use function_call function_calls',
  content_filter: `content_filter content_filtered refusal sensitive safety recitation prohibited_content
    blocklist spii language model_armor image_safety image_prohibited_content image_recitation moderation
    filtered blocked guardrail_intervened error_toxic`,
  aborted: `abort aborted cancel cancelled canceled user_cancel error failed timeout network_error server_error
    internal_error engine_error insufficient_system_resource overloaded function_call_filter
    malformed_function_call malformed_response malformed_tool_use malformed_model_output unexpected_tool_call
    too_many_tool_calls missing_thought_signature`,
};

const reasons: ReadonlyMap<string, FinishReason | 'aborted'> = new Map(
  Object.entries(words).flatMap(([reason, list]) =>
    list.split(/\s+/).map((word) => [word, reason as FinishReason | 'aborted'] as const),
  ),
);

/**
 * Maps an upstream's finish reason; unknown ones count as `stop` and are logged. A complete answer with tool calls ends with
 * `tool_calls`, whatever its server reports.
 * @throws ApiError `invalid_upstream_response` where the server aborted the answer
 */
export function finishReason(
  given: unknown,
  hasToolCalls: boolean,
  { finishes: own, repairs }: { finishes: CustomTraits['finish'] | undefined; repairs: Repairs },
): FinishReason {
  const configured = own && Object.hasOwn(own, String(given)) ? own[String(given)] : undefined;
  const reason = configured ?? knownReason(given);
  if (reason === 'aborted') throw unusable('was aborted');
  if (reason === undefined && typeof given === 'string' && given !== '')
    repairs.add('finish reason is unknown');
  const ended = reason ?? 'stop';
  if (ended === 'stop' && hasToolCalls) return 'tool_calls';
  return ended === 'tool_calls' && !hasToolCalls ? 'stop' : ended;
}

/** @throws ApiError `invalid_upstream_response` for the reason of an aborted answer */
export function requireNotAborted(reason: unknown): void {
  if (knownReason(reason) === 'aborted') throw unusable('was aborted');
}

/** Normalizes and looks up a reason. Gemini appends details (`content_filter: PROHIBITED_CONTENT`), some prefix the enum's name. */
function knownReason(given: unknown): FinishReason | 'aborted' | undefined {
  if (typeof given !== 'string') return undefined;
  const word = given
    .replace(/: .*$/s, '')
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
    .replace(/^(?:finish_?reason|stop_?reason)[._]/, '');
  return reasons.get(word);
}

/** Stop sequence that ended a choice, in vLLM's, SGLang's or llama.cpp's form. Numbers are token ids, useless to clients. */
export function stopReason(choice: Fields, answer: Fields): { stop_reason?: string } {
  const { stop_reason, matched_stop, stopping_word } = choice;
  const candidates = [stop_reason, matched_stop, stopping_word, answer['stopping_word']];
  const found = candidates.find((each) => typeof each === 'string' && each !== '');
  return found === undefined ? {} : { stop_reason: found as string };
}
