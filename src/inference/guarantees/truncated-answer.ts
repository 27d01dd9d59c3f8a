import { parseOrUndefined } from '../../base/fields.ts';
import type { AssistantMessage } from '../../wire/chat/chat.ts';
import { stripCodeFence } from './code-fence.ts';

/** Expected start of an answer. */
export type ExpectedStart = 'call' | 'object' | 'json';

/**
 * True if a truncated answer was on its way to the call or JSON. An answer truncated while the model was thinking was; one that
 * starts with other text was not, and would have gone on with it.
 */
export function startsAsExpected(
  { content, tool_calls: calls }: AssistantMessage,
  expected: ExpectedStart,
): boolean {
  if (calls?.length) return true;
  const text = stripCodeFence(content ?? '');
  // The text may end within the opening of a code fence.
  if (text === '' || /^```[\w-]*$/.test(text)) return true;
  if (expected === 'call' && callMarks.test(text)) return true;
  return expected === 'json' ? anyJson.test(text) : object.test(text);
}

/**
 * True if a truncated answer is complete all the same: the embedded engine closes what it cannot finish, and some models go on
 * in blanks. A number may lack digits.
 */
export function isComplete({ content, tool_calls: calls }: AssistantMessage): boolean {
  const texts = calls?.length ? calls.map((call) => call.function.arguments) : [content ?? ''];
  return texts.every((text) => !['undefined', 'number'].includes(typeof parseOrUndefined(text)));
}

/** Start of a call that the server could not parse because it was truncated. */
const callMarks = /<\|?tool_call|\[TOOL_CALLS\]|<\|python_tag\|>|<function=/;

const object = /^\{\s*(?:$|["}])/;

/** First token of JSON, whole or truncated, and not the first word of a text. */
const anyJson =
  /^(?:\{\s*(?:$|["}])|\[\s*(?:$|["{[\]\d-]|true|false|null)|"|-?\d*(?:\.\d*)?(?:[eE][+-]?\d*)?$|t(?:r(?:ue?)?)?$|f(?:a(?:l(?:se?)?)?)?$|n(?:u(?:ll?)?)?$)/;
