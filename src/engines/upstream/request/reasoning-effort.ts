import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { fieldsOf } from '../../../base/fields.ts';
import type { EffortMapping, RequestMembers } from '../flavors/traits.ts';

/** Both names that templates use. */
const noThinking = { enable_thinking: false, thinking: false };

/** Members that carry the reasoning effort. Those that the client set itself stay as they are. */
export function effortMembers(request: ChatRequest, mapping: EffortMapping): RequestMembers {
  const { reasoning_effort: effort, chat_template_kwargs: given } = request;
  if (!effort || mapping === 'as given') return {};
  if (mapping === 'left out') return { reasoning_effort: null };
  if (typeof mapping === 'object') {
    const theirs = Object.hasOwn(mapping, effort) ? mapping[effort]! : {};
    if (typeof theirs === 'string') return { reasoning_effort: theirs };
    const isOpen = ([name]: [string, unknown]) =>
      name === 'reasoning_effort' || (request[name] ?? null) === null;
    return Object.fromEntries(Object.entries(theirs).filter(isOpen));
  }
  const variables = (more: object) => ({ chat_template_kwargs: { ...more, ...fieldsOf(given) } });
  if (effort === 'none') return { reasoning_effort: null, ...variables(noThinking) };
  return mapping === 'template' ? variables({ reasoning_effort: effort }) : {};
}
