import { type Fields, fieldsOf, isObject } from '../../../base/fields.ts';
import { unusable } from '../connection/parse-body.ts';

/** The choices of an answer whose prompt the server's filter took. */
export function filteredChoices(wanted: number): Fields[] {
  return Array.from({ length: wanted }, (_, index) => ({ index, text: '', finish_reason: 'content_filter' }));
}

/** Members with the results of a prompt filter (Azure, Gemini and gateways in front of it). */
const findings = ['prompt_filter_results', 'promptFeedback', 'prompt_feedback'] as const;

/**
 * The choices of a whole answer. Servers that filter prompts answer with none (Gemini, Azure), and gateways that leave out empty
 * lists with no `choices` at all.
 * @throws ApiError `invalid_upstream_response` for what is no answer
 */
export function givenChoices(answer: Fields, wanted: number): readonly unknown[] {
  const { choices } = answer;
  if (Array.isArray(choices) && choices.length > 0) return choices;
  if (isPromptFiltered(answer)) return filteredChoices(wanted);
  throw unusable('has no choices');
}

/** True if an answer without choices reports a filtered prompt. */
function isPromptFiltered(answer: Fields): boolean {
  const { choices, object, usage } = answer;
  if (Array.isArray(choices)) return true;
  if (choices !== undefined && choices !== null) return false;
  if (findings.some((name) => isObject(answer[name]) || Array.isArray(answer[name]))) return true;
  const isAnswer = object === 'chat.completion' || object === 'text_completion';
  return isAnswer && isObject(usage) && !fieldsOf(usage)['completion_tokens'];
}
