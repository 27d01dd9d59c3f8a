import type { Capabilities, NativeEvent, Op } from '../engines/engines.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { editMembers } from '../wire/json/edit-members.ts';
import { ruleOf, strictNames } from './promises/rule.ts';

/** Whose answer it is said to be: ours, and the model's public name. */
export interface Name {
  id: string;
  model: string;
}

/** The name put into an answer, and into the event of a stream that tells it. */
interface Naming {
  answer(text: string, name: Name): string;
  event(event: NativeEvent, name: Name): string;
}

export const namings: Record<Op, Naming> = {
  messages: {
    answer: renamed,
    event({ type, data }, name) {
      if (type !== 'message_start') return data;
      const { message } = JSON.parse(data) as { message: object };
      return JSON.stringify({ type, message: { ...message, ...name } });
    },
  },
};

function renamed(text: string, { id, model }: Name): string {
  return editMembers(
    text,
    new Map(Object.entries({ id, model }).map(([key, each]) => [key, JSON.stringify(each)])),
  );
}

/**
 * Whether the engine itself keeps what the request is promised, so that nobody has to look at the answer: exactly, or
 * because nothing is promised.
 */
export function keepsItself(chat: ChatRequest, { jsonSchema, forcedTool }: Capabilities): boolean {
  const { kind, most } = ruleOf(chat);
  const hasFormat = (chat.response_format?.type ?? 'text') !== 'text';
  const ofCalls = kind === 'call' || most !== Infinity || strictNames(chat).size > 0;
  return (!ofCalls || forcedTool === 'exact') && (!hasFormat || jsonSchema === 'exact');
}
