import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { fieldsOf } from '../../../base/fields.ts';
import type { EffortMapping, RequestMembers } from '../flavors/traits.ts';

/** Templates call it the one or the other. */
const noThinking = { enable_thinking: false, thinking: false };

/** The members of the request that carry the effort. What the client set of them itself stays as it is. */
export function effortMembers(request: ChatRequest, way: EffortMapping): RequestMembers {
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
