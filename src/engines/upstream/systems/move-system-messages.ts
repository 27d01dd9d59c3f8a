import type { ChatMessage, ContentPart } from '../../../wire/chat/chat.ts';

/**
 * Places where a server takes system messages. `first`: one before all others; later ones become user text in their place, which
 * keeps the cached prefix. `once`: all merged into one before all others. `nowhere`: as text of the first user turn.
 */
export const systemPlaces = ['anywhere', 'first', 'once', 'nowhere'] as const;
export type SystemPlace = (typeof systemPlaces)[number];

const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer';

/** Moves system messages to where the server takes them. */
export function moveSystems(messages: readonly ChatMessage[], place: SystemPlace): ChatMessage[] {
  const systems = messages.filter(isSystem);
  if (place === 'anywhere' || systems.length === 0) return [...messages];
  if (place === 'first') {
    const opening = messages.findIndex((message) => !isSystem(message));
    const leading = opening < 0 ? systems : messages.slice(0, opening);
    const first = leading.length > 0 ? [joined(leading, leading[0]!)] : [];
    return [...first, ...asUser(messages.slice(leading.length))];
  }
  const all = [joined(systems, systems[0]!), ...messages.filter((message) => !isSystem(message))];
  return place === 'once' ? all : asUser(all);
}

/** Turns system messages into text of the adjacent user turn, or into a user turn of their own. */
function asUser(messages: readonly ChatMessage[]): ChatMessage[] {
  const turns: ChatMessage[] = [];
  let waiting: ChatMessage[] = [];
  for (const message of messages) {
    if (isSystem(message)) waiting.push(message);
    // Tool results stay next to their calls.
    else if (message.role === 'tool') turns.push(message);
    else {
      addTurn(turns, waiting);
      // User turns around a system message are merged, for templates in which roles must alternate.
      const last = waiting.length > 0 && message.role === 'user' ? turns.pop() : undefined;
      turns.push(last ? joined([last, message], message) : message);
      waiting = [];
    }
  }
  addTurn(turns, waiting);
  return turns;
}

function addTurn(turns: ChatMessage[], systems: readonly ChatMessage[]): void {
  if (systems.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === 'user') turns.splice(-1, 1, joined([last, ...systems], last));
  else turns.push(joined(systems, { role: 'user' }));
}

/** Merges the contents of messages into a copy of `like`. */
function joined(messages: readonly ChatMessage[], like: ChatMessage): ChatMessage {
  const contents = messages.map(({ content }) => content ?? '');
  const content = contents.every((each) => typeof each === 'string')
    ? contents.filter((text) => text !== '').join('\n\n')
    : contents.flatMap((each): ContentPart[] =>
        typeof each === 'string' ? [{ type: 'text', text: each }] : each,
      );
  return { ...like, content };
}
