import { parseOrUndefined } from '../../base/fields.ts';
import type { AssistantMessage } from '../../wire/chat/chat.ts';
import { stripCodeFence } from './code-fence.ts';

/** What a cut answer may have begun with. */
export type ExpectedStart = 'call' | 'object' | 'json';

/**
 * Whether an answer that the token limit cut was on its way to what was promised. One that was still thought about when the
 * limit came was; one that talks first broke the promise, and would have gone on talking.
 */
export function startsAsExpected(
  { content, tool_calls: calls }: AssistantMessage,
  expected: ExpectedStart,
): boolean {
  if (calls?.length) return true;
  const text = stripCodeFence(content ?? '');
  // An answer whose first marks are those of a code block may hold no more than a part of them.
  if (text === '' || /^```[\w-]*$/.test(text)) return true;
  if (expected === 'call' && callMarks.test(text)) return true;
  return expected === 'json' ? anyJson.test(text) : object.test(text);
}

/**
 * Whether nothing is missing of it although the limit cut it: the embedded engine closes what it cannot end, and some models
 * go on in blanks. Of a number further digits may be missing.
 */
export function isComplete({ content, tool_calls: calls }: AssistantMessage): boolean {
  const texts = calls?.length ? calls.map((call) => call.function.arguments) : [content ?? ''];
  return texts.every((text) => !['undefined', 'number'].includes(typeof parseOrUndefined(text)));
}

/** A call that no server's reader took out of the text, because its end was missing. */
const callMarks = /<\|?tool_call|\[TOOL_CALLS\]|<\|python_tag\|>|<function=/;

const object = /^\{\s*(?:$|["}])/;

/** The first token of JSON, whole or cut. A text of which it is the first word is none. */
const anyJson =
  /^(?:\{\s*(?:$|["}])|\[\s*(?:$|["{[\]\d-]|true|false|null)|"|-?\d*(?:\.\d*)?(?:[eE][+-]?\d*)?$|t(?:r(?:ue?)?)?$|f(?:a(?:l(?:se?)?)?)?$|n(?:u(?:ll?)?)?$)/;
