import type { ServiceTier } from '../../../core/service-tier.ts';
import type { ChatUsage } from '../chat.ts';
import { chatEventWriter, lastEvent } from './sse.ts';

/** Chat completion in the form of its client. */
interface FinishedChat {
  id: string;
  created: number;
  model: string;
  service_tier?: ServiceTier;
  choices: {
    index: number;
    message: { role: string; tool_calls?: object[] } & Record<string, unknown>;
    logprobs?: object | null;
    finish_reason: string;
    stop_reason?: string | null;
  }[];
  usage: ChatUsage;
}

/** Events of a stream that has the whole of each choice in one chunk. */
export function* replayChat(text: string, includeUsage: boolean): Generator<string> {
  const answer = JSON.parse(text) as FinishedChat;
  const { id, created, model, service_tier, usage } = answer;
  const write = chatEventWriter({ id, object: 'chat.completion.chunk', created, model, service_tier });
  const without = includeUsage ? { usage: null } : {};
  for (const { message, finish_reason, stop_reason, ...choice } of answer.choices) {
    const ending = { finish_reason, ...(stop_reason !== undefined && { stop_reason }) };
    yield write({ choices: [{ ...choice, delta: deltaOf(message), finish_reason: null }], ...without });
    yield write({ choices: [{ index: choice.index, delta: {}, ...ending }], ...without });
  }
  if (includeUsage) yield write({ choices: [], usage });
  yield lastEvent;
}

function deltaOf({ tool_calls: calls, ...message }: FinishedChat['choices'][number]['message']): object {
  const said = Object.entries(message).filter(([, value]) => value !== null);
  return {
    ...Object.fromEntries(said),
    ...(calls && { tool_calls: calls.map((call, index) => ({ index, ...call })) }),
  };
}
