import { estimateText } from '../chat/request/estimate-prompt.ts';
import type { JsonBody } from '../json/json-body.ts';
import { checkTextInputs, splitTextInputs } from '../shared/text-inputs.ts';
import { type AddFault, parseBody, validator } from '../schema/validate.ts';
import type { CompletionsRequest } from './completions.ts';
import { completionsLimits, completionsRequestSchema } from './request-schema.ts';

/**
 * Reads a completions request.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseCompletionsRequest(text: string): JsonBody<CompletionsRequest> {
  return parseBody(text, checkCompletionsRequest);
}

/** Every fault of a parsed body; also the rule for a batch line's body. */
export const checkCompletionsRequest = validator(completionsRequestSchema, checkAgreement);

function checkAgreement(request: CompletionsRequest, add: AddFault): void {
  const { prompt, echo, logprobs, max_tokens: most, stream } = request;
  checkTextInputs('prompt', prompt, completionsLimits.answers, add);
  const n = request.n ?? 1;
  const made = answersPerPrompt(request);
  if (made < n) add('best_of', `expected at least n, which is ${n}, got ${made}`);
  if (made > n && stream) add('best_of', 'cannot be streamed: which answers are told is known at the end');
  const answers = splitTextInputs('prompt', prompt).length * made;
  if (answers > completionsLimits.answers)
    add(
      made > n ? 'best_of' : 'n',
      `makes ${answers} answers, of which ${completionsLimits.answers} are possible`,
    );
  if (most === 0 && !(echo && typeof logprobs === 'number'))
    add('max_tokens', 'expected at least 1, or 0 with echo and logprobs, got 0');
}

/** Tokens of all prompts: those of texts about, token ids exactly. */
export function estimateTextPrompt({ prompt }: Pick<CompletionsRequest, 'prompt'>): number {
  const tokens = splitTextInputs('prompt', prompt).map(({ input }) =>
    typeof input === 'string' ? estimateText(input) : input.length,
  );
  return tokens.reduce((sum, count) => sum + count, 0);
}

/** Of each prompt. */
export function answersPerPrompt({ n, best_of: made }: Pick<CompletionsRequest, 'n' | 'best_of'>): number {
  return made ?? n ?? 1;
}
