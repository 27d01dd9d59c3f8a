import type { FinishReason } from '../../wire/chat/chat.ts';

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

/**
 * An upstream's reason in our words. A whole answer with tool calls ended with `tool_calls` whatever is said
 * (wire-formats.md, section 2.2), unless it was cut.
 */
export function finishReason(given: unknown, hasToolCalls: boolean): FinishReason {
  const reason = known.get(given) ?? 'stop';
  if (reason === 'stop' && hasToolCalls) return 'tool_calls';
  return reason === 'tool_calls' && !hasToolCalls ? 'stop' : reason;
}

/** The stop sequence that ended an answer, which vLLM tells; a number there is a token, which means nothing to a client. */
export function stopReason(given: unknown): { stop_reason?: string } {
  return typeof given === 'string' && given !== '' ? { stop_reason: given } : {};
}
