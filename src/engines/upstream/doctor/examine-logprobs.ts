import { ApiError } from '../../../core/errors.ts';
import type { Finding } from '../../../core/examination.ts';
import type { ChatRequest, ChatResponse } from '../../../wire/chat/chat.ts';
import { ok, ours } from './findings.ts';

/** Enough for the first word of an answer. */
const short = { max_tokens: 16, logprobs: true };

/** Checks for log probabilities: a request for them fails where the server ignores the field. */
export async function examineLogprobs(
  ask: (more: Partial<ChatRequest>) => Promise<ChatResponse>,
): Promise<Finding> {
  const about = 'logprobs';
  try {
    const [choice] = (await ask(short)).choices;
    if (choice?.logprobs?.content?.length) return ok(about, 'in its answers');
    return ours(about, 'not known: its answer had no text, or it is never asked for them');
  } catch (error) {
    const told = error instanceof ApiError ? error.message.replace(/\.$/, '') : String(error);
    return ours(about, `none (${told}); requests for them fail`);
  }
}
