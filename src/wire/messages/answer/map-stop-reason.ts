import type { FinishReason } from '../../chat/chat.ts';
import type { Message, StopReason } from '../messages.ts';

export interface Ending {
  finish: FinishReason;
  hasCalls: boolean;
  /** The stop sequence that the engine says it met. */
  stop: string | null;
  refusal: string | null;
}

/**
 * Why an answer ended, in the words of messages. A call of a tool tells by itself that one is called, whatever the engine
 * says (wire-formats.md, section 2.2): clients end the turn otherwise. Only an answer that was cut is none to act upon.
 */
export function mapStopReason({ finish, hasCalls, stop, refusal }: Ending): StopReason {
  if (finish === 'length') return 'max_tokens';
  if (finish === 'content_filter' || (refusal !== null && !hasCalls)) return 'refusal';
  if (hasCalls) return 'tool_use';
  return stop === null ? 'end_turn' : 'stop_sequence';
}

/** The fields of a message that tell how it ended. */
export function endingFields(
  ending: Ending,
): Pick<Message, 'stop_reason' | 'stop_sequence' | 'stop_details'> {
  const reason = mapStopReason(ending);
  return {
    stop_reason: reason,
    stop_sequence: reason === 'stop_sequence' ? ending.stop : null,
    stop_details:
      reason === 'refusal' ? { type: 'refusal', category: null, explanation: ending.refusal } : null,
  };
}
