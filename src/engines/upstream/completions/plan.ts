import { invalid } from '../../../core/errors.ts';
import type { CompletionsRequest } from '../../../wire/completions/completions.ts';
import { answersPerPrompt } from '../../../wire/completions/request.ts';
import { editBody } from '../../../wire/json/edit-body.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import { type ChoiceRequest, eachAlone, isApart } from '../request/split-choices.ts';
import { allAbilities } from '../flavors/usual.ts';
import type { CompletionAbility, FlavorTraits } from '../flavors/traits.ts';
import { splitTextInputs } from '../../../wire/shared/text-inputs.ts';

/** What is known of a server; where its kind takes none, whoever configured that it does knows better. */
type Server = Pick<FlavorTraits, 'completions' | 'splitChoices'>;

export interface Plan {
  /** To be asked one after the other, because a request holds one slot. */
  asks: ChoiceRequest<CompletionsRequest>[];
  /** The text that each prompt's choices are to begin with, which the server does not tell. */
  prefixes: readonly string[] | null;
}

/**
 * How a request is put to a server. Lists are taken apart for servers that take none, and a prompt alone is told by us.
 * @throws ApiError `validation_error` (422) for what the server cannot
 */
export function planOf(
  body: JsonBody<CompletionsRequest>,
  { completions: abilities = allAbilities, splitChoices: apart }: Server,
): Plan {
  const { prompt, echo, logprobs, suffix, best_of: bestOf } = body.value;
  const can = (ability: CompletionAbility) => abilities.includes(ability);
  const prompts = splitTextInputs('prompt', prompt).map(({ input }) => input);
  const texts = prompts.filter((each) => typeof each === 'string');
  const isText = texts.length === prompts.length;
  const n = body.value.n ?? 1;
  const isTold = Boolean(echo) && (typeof logprobs === 'number' || !isText);
  const needs: [isAsked: boolean, ability: CompletionAbility, param: string, why: string][] = [
    [!isText, 'tokens', 'prompt', 'takes texts, no token ids'],
    [!suffix, 'raw', 'prompt', 'puts texts into its chat template: ask it for chat completions'],
    [Boolean(suffix), 'suffix', 'suffix', 'writes what comes behind a text, not what comes between two'],
    [answersPerPrompt(body.value) > n, 'best_of', 'best_of', 'makes no more answers than it tells'],
    [isTold && isText, 'echo', 'echo', 'tells no log probabilities of prompts: leave out echo or logprobs'],
    [isTold, 'echo', 'echo', 'does not tell the text of token ids: leave it out, or send texts'],
  ];
  for (const [isAsked, ability, param, why] of needs)
    if (isAsked && !can(ability)) throw invalid(param, `the server of this model ${why}`);
  const asked = editBody(body, {
    ...(!isTold && echo !== undefined && { echo: undefined }),
    ...((bestOf ?? 1) <= n && bestOf !== undefined && { best_of: undefined }),
  });
  const isWhole = prompts.length === 1 || can('lists');
  const hasN = n === 1 || (can('n') && !isApart(asked.value, apart));
  return { asks: asksOf(asked, prompts, n, isWhole, hasN), prefixes: echo && !isTold ? texts : null };
}

function asksOf(
  body: JsonBody<CompletionsRequest>,
  prompts: readonly (string | readonly number[])[],
  n: number,
  isWhole: boolean,
  hasN: boolean,
): ChoiceRequest<CompletionsRequest>[] {
  if (isWhole && hasN) return [{ body, first: 0, wanted: prompts.length * n, isRepeat: false }];
  return prompts.flatMap((prompt, at) => {
    const one = isWhole ? body : editBody(body, { prompt: prompt as string | number[] });
    if (hasN) return [{ body: one, first: at * n, wanted: n, isRepeat: false }];
    return eachAlone(one, at * n, n);
  });
}
