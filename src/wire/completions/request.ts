import type { JsonBody } from '../json/json-body.ts';
import { estimateTexts } from '../chat/request/estimate-prompt.ts';
import { checkTextInputs, splitTextInputs } from '../shared/text-inputs.ts';
import { type AddFault, parseBody, type ReportFields, validator } from '../schema/validate.ts';
import type { CompletionsRequest } from './completions.ts';
import { completionsLimits, completionsRequestSchema } from './request-schema.ts';

/**
 * Reads a completions request.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseCompletionsRequest(text: string, report?: ReportFields): JsonBody<CompletionsRequest> {
  return parseBody(text, checkCompletionsRequest, report);
}

/** Checks a parsed body of a request or of a batch line. */
export const checkCompletionsRequest = validator(completionsRequestSchema, checkAgreement);

function checkAgreement(request: CompletionsRequest, add: AddFault): void {
  const { prompt, echo, logprobs, max_tokens: maxTokens, stream } = request;
  checkTextInputs('prompt', prompt, completionsLimits.answers, add);
  const n = request.n ?? 1;
  const perPrompt = answersPerPrompt(request);
  if (perPrompt < n) add('best_of', `expected at least n, which is ${n}, got ${perPrompt}`);
  if (perPrompt > n && stream)
    add('best_of', 'cannot be streamed: the best answers are known only at the end');
  const answers = splitTextInputs('prompt', prompt).length * perPrompt;
  if (answers > completionsLimits.answers)
    add(
      perPrompt > n ? 'best_of' : 'n',
      `makes ${answers} answers; at most ${completionsLimits.answers} are allowed`,
    );
  if (maxTokens === 0 && !(echo && typeof logprobs === 'number'))
    add('max_tokens', 'expected at least 1, or 0 with echo and logprobs, got 0');
}

/** Tokens of all prompts: estimated for text, exact for token ids. */
export function estimateTextPrompt({ prompt }: Pick<CompletionsRequest, 'prompt'>): number {
  return estimateTexts(prompt);
}

export function answersPerPrompt({ n, best_of: bestOf }: Pick<CompletionsRequest, 'n' | 'best_of'>): number {
  return bestOf ?? n ?? 1;
}
