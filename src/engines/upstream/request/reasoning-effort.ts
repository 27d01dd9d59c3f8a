import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { fieldsOf } from '../../../base/fields.ts';

/**
 * How a server is told how hard to think (`flavors/`).
 * `as given`: by `reasoning_effort`; the same with its words for some of ours. `switch`: the same, and `none` by switching
 * the template, because older versions do not know the word. `template`: by variables of the chat template alone.
 * `left out`: not at all.
 */
export type EffortWay = 'as given' | 'switch' | 'template' | 'left out' | Readonly<Record<string, string>>;

/** Templates call it the one or the other. */
const noThinking = { enable_thinking: false, thinking: false };

/** The members of the request that say so; null takes one out. A client's own variables of the template stay as they are. */
export function effortMembers(
  { reasoning_effort: effort, chat_template_kwargs: given }: ChatRequest,
  way: EffortWay,
): Record<string, unknown> {
  if (!effort || way === 'as given') return {};
  if (way === 'left out') return { reasoning_effort: null };
  if (typeof way === 'object') {
    return Object.hasOwn(way, effort) ? { reasoning_effort: way[effort] } : {};
  }
  const variables = (more: object) => ({ chat_template_kwargs: { ...more, ...fieldsOf(given) } });
  if (effort === 'none') return { reasoning_effort: null, ...variables(noThinking) };
  return way === 'template' ? variables({ reasoning_effort: effort }) : {};
}
