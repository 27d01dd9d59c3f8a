import { type Fields, fieldsOf, isObject } from '../../../base/fields.ts';
import { unusable } from '../connection/parse-body.ts';

/** Choices for an answer whose prompt the server's filter removed. */
export function filteredChoices(count: number): Fields[] {
  return Array.from({ length: count }, (_, index) => ({ index, text: '', finish_reason: 'content_filter' }));
}

/** Members with the results of a prompt filter (Azure, Gemini and gateways in front of it). */
const filterResults = ['prompt_filter_results', 'promptFeedback', 'prompt_feedback'] as const;

/**
 * Choices of a whole answer. Servers that filter prompts send an empty list (Gemini, Azure), and gateways that omit empty lists
 * send no `choices`.
 * @throws ApiError `invalid_upstream_response` for anything but an answer
 */
export function givenChoices(answer: Fields, count: number): readonly unknown[] {
  const { choices } = answer;
  if (Array.isArray(choices) && choices.length > 0) return choices;
  if (isPromptFiltered(answer)) return filteredChoices(count);
  throw unusable('has no choices');
}

/** True where an answer without choices reports a filtered prompt. */
function isPromptFiltered(answer: Fields): boolean {
  const { choices, object, usage } = answer;
  if (Array.isArray(choices)) return true;
  if (choices !== undefined && choices !== null) return false;
  if (filterResults.some((name) => isObject(answer[name]) || Array.isArray(answer[name]))) return true;
  const isAnswer = object === 'chat.completion' || object === 'text_completion';
  return isAnswer && isObject(usage) && !fieldsOf(usage)['completion_tokens'];
}
