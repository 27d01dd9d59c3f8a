import type { FinishReason } from '../../../wire/chat/chat.ts';
import type { Fields } from '../../../base/fields.ts';
import { unusable } from './parse-body.ts';

const known = new Map<unknown, FinishReason>(
  Object.entries({
    stop: 'stop',
    eos: 'stop',
    eos_token: 'stop',
    end_turn: 'stop',
    stop_sequence: 'stop',
    length: 'length',
    max_tokens: 'length',
    model_length: 'length',
    tool_calls: 'tool_calls',
    tool_call: 'tool_calls',
    tool_use: 'tool_calls',
    function_call: 'tool_calls',
    content_filter: 'content_filter',
    refusal: 'content_filter',
  }),
);

/** An answer that ended so is none: it was broken off, and another attempt may bring it. */
const broken: ReadonlySet<unknown> = new Set([
  'abort',
  'cancelled',
  'error',
  'insufficient_system_resource',
  'function_call_filter', // Gemini could not read the call that its model wrote, and tells nothing of it
]);

/**
 * An upstream's reason in our words. A whole answer with tool calls ended with `tool_calls` whatever is said
 * (wire-formats.md, section 2.2), unless it was cut.
 * @throws ApiError `invalid_upstream_response` when the server broke it off
 */
export function finishReason(
  told: unknown,
  hasToolCalls: boolean,
  own?: Readonly<Record<string, FinishReason>>,
): FinishReason {
  const given = own && Object.hasOwn(own, String(told)) ? own[String(told)] : firstWord(told);
  if (broken.has(given)) throw unusable('was broken off by it');
  const reason = known.get(given) ?? 'stop';
  if (reason === 'stop' && hasToolCalls) return 'tool_calls';
  return reason === 'tool_calls' && !hasToolCalls ? 'stop' : reason;
}

/** Gemini tells behind a colon what its filter found: `content_filter: PROHIBITED_CONTENT`. */
function firstWord(told: unknown): unknown {
  return typeof told === 'string' ? told.replace(/: [A-Z_]+$/, '') : told;
}

/**
 * The stop sequence that ended a choice: vLLM says `stop_reason`, SGLang `matched_stop`, llama.cpp `stopping_word`, there
 * or beside the choices. A number is a token, which means nothing to a client.
 */
export function stopReason(choice: Fields, answer: Fields): { stop_reason?: string } {
  const { stop_reason, matched_stop, stopping_word } = choice;
  const candidates = [stop_reason, matched_stop, stopping_word, answer['stopping_word']];
  const found = candidates.find((each) => typeof each === 'string' && each !== '');
  return found === undefined ? {} : { stop_reason: found as string };
}
