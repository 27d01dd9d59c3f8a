import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { fieldsOf } from '../../../base/fields.ts';

/** Members of a request; null removes one. */
type RequestMembers = Readonly<Record<string, unknown>>;

/**
 * A server's form of the reasoning effort (`flavors/`).
 * `as given`: by `reasoning_effort`. A record: the same, with its own word for some of ours, or the members that replace it.
 * `switch`: as given, and `none` by switching the template, because older versions do not know the word.
 * `template`: by variables of the chat template alone. `left out`: never.
 */
export type EffortWay =
  | 'as given'
  | 'switch'
  | 'template'
  | 'left out'
  | Readonly<Record<string, string | RequestMembers>>;

/** Templates call it the one or the other. */
const noThinking = { enable_thinking: false, thinking: false };

/** The members of the request that carry the effort. What the client set of them itself stays as it is. */
export function effortMembers(request: ChatRequest, way: EffortWay): RequestMembers {
  const { reasoning_effort: effort, chat_template_kwargs: given } = request;
  if (!effort || way === 'as given') return {};
  if (way === 'left out') return { reasoning_effort: null };
  if (typeof way === 'object') {
    const theirs = Object.hasOwn(way, effort) ? way[effort]! : {};
    if (typeof theirs === 'string') return { reasoning_effort: theirs };
    const isOpen = ([name]: [string, unknown]) =>
      name === 'reasoning_effort' || (request[name] ?? null) === null;
    return Object.fromEntries(Object.entries(theirs).filter(isOpen));
  }
  const variables = (more: object) => ({ chat_template_kwargs: { ...more, ...fieldsOf(given) } });
  if (effort === 'none') return { reasoning_effort: null, ...variables(noThinking) };
  return way === 'template' ? variables({ reasoning_effort: effort }) : {};
}
