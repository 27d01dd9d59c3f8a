import type { ChatRequest } from '../../wire/chat/chat.ts';
import { fieldsOf } from './fields.ts';

/**
 * How a server is told how hard to think (`flavors.ts`).
 * `as given`: by `reasoning_effort`. `levels`: the same, but with fewer words. `switch`: the same, and `none` by switching
 * the template, because older versions do not know the word. `template`: by variables of the chat template alone.
 */
export type EffortWay = 'as given' | 'levels' | 'switch' | 'template';

const fewerWords: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'max' };

/** Templates call it the one or the other. */
const noThinking = { enable_thinking: false, thinking: false };

/** The members of the request that say so; null takes one out. A client's own variables of the template stay as they are. */
export function effortMembers(
  { reasoning_effort: effort, chat_template_kwargs: given }: ChatRequest,
  way: EffortWay,
): Record<string, unknown> {
  if (!effort || way === 'as given') return {};
  if (way === 'levels') {
    const word = fewerWords[effort];
    return word === undefined ? {} : { reasoning_effort: word };
  }
  const variables = (more: object) => ({ chat_template_kwargs: { ...more, ...fieldsOf(given) } });
  if (effort === 'none') return { reasoning_effort: null, ...variables(noThinking) };
  return way === 'template' ? variables({ reasoning_effort: effort }) : {};
}
