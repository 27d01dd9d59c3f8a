import { invalid } from '../../../core/errors.ts';
import type { CompletionsRequest } from '../../../wire/completions/completions.ts';
import { answersPerPrompt } from '../../../wire/completions/request.ts';
import { editBody } from '../../../wire/json/edit-body.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import { type ChoiceRequest, eachAlone, isSplit } from '../request/split-choices.ts';
import { allAbilities } from '../flavors/usual.ts';
import type { CompletionAbility, FlavorTraits } from '../flavors/traits.ts';
import { splitTextInputs } from '../../../wire/shared/text-inputs.ts';

/** Traits of a server. A configuration for raw prompts overrides a flavor without them. */
type Server = Pick<FlavorTraits, 'completions' | 'splitChoices'>;

export interface Plan {
  /** Requests to send one after the other, because a client's request holds one slot. */
  parts: ChoiceRequest<CompletionsRequest>[];
  /** Echo of each prompt, where Offpeak adds it instead of the server. */
  prefixes: readonly string[] | null;
}

/** Plans the requests: lists may be split, an echo added here. @throws ApiError `validation_error` for unsupported fields */
export function planFor(
  body: JsonBody<CompletionsRequest>,
  { completions: abilities = allAbilities, splitChoices: apart }: Server,
): Plan {
  const { prompt, echo, logprobs, suffix, best_of: bestOf } = body.value;
  const can = (ability: CompletionAbility) => abilities.includes(ability);
  const prompts = splitTextInputs('prompt', prompt).map(({ input }) => input);
  const texts = prompts.filter((each) => typeof each === 'string');
  const isText = texts.length === prompts.length;
  const n = body.value.n ?? 1;
  const needsEcho = Boolean(echo) && (typeof logprobs === 'number' || !isText);
  const needs: [isUsed: boolean, ability: CompletionAbility, param: string, why: string][] = [
    [!isText, 'tokens', 'prompt', 'takes text, not token ids'],
    [!suffix, 'raw', 'prompt', 'applies its chat template to text; use chat completions instead'],
    [Boolean(suffix), 'suffix', 'suffix', 'only continues a text and does not support a suffix'],
    [answersPerPrompt(body.value) > n, 'best_of', 'best_of', 'does not make more answers than it returns'],
    [needsEcho && isText, 'echo', 'echo', 'returns no log probabilities of prompts; omit echo or logprobs'],
    [needsEcho, 'echo', 'echo', 'does not return the text of token ids; omit echo, or send text'],
  ];
  for (const [isUsed, ability, param, why] of needs)
    if (isUsed && !can(ability)) throw invalid(param, `the server of this model ${why}`);
  const edited = editBody(body, {
    ...(!needsEcho && echo !== undefined && { echo: undefined }),
    ...((bestOf ?? 1) <= n && bestOf !== undefined && { best_of: undefined }),
  });
  const isWhole = prompts.length === 1 || can('lists');
  const hasN = n === 1 || (can('n') && !isSplit(edited.value, apart));
  return { parts: partsFor(edited, prompts, n, isWhole, hasN), prefixes: echo && !needsEcho ? texts : null };
}

function partsFor(
  body: JsonBody<CompletionsRequest>,
  prompts: readonly (string | readonly number[])[],
  n: number,
  isWhole: boolean,
  hasN: boolean,
): ChoiceRequest<CompletionsRequest>[] {
  if (isWhole && hasN) return [{ body, first: 0, choices: prompts.length * n, isRepeat: false }];
  return prompts.flatMap((prompt, at) => {
    const one = isWhole ? body : editBody(body, { prompt: prompt as string | number[] });
    if (hasN) return [{ body: one, first: at * n, choices: n, isRepeat: false }];
    return eachAlone(one, at * n, n);
  });
}
