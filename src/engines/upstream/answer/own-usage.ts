import type { OwnTraits, UsageFigure } from '../../../core/flavor.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';

/** What an answer, or an event of one, tells of its usage, in the words of chat completions; undefined where it is silent. */
export type UsageReader = (answer: Fields) => unknown;

const usual: UsageReader = ({ usage }) => usage;

/** @param places where a server tells what, if not in `usage` */
export function usageReader(places: OwnTraits['usage'] | undefined): UsageReader {
  if (!places) return usual;
  return (answer) => {
    const of = (figure: UsageFigure) =>
      places[figure]?.reduce((found: unknown, name) => fieldsOf(found)[name], answer);
    const [prompt, completion] = [of('prompt_tokens'), of('completion_tokens')];
    if (prompt === undefined && completion === undefined) return undefined;
    return {
      prompt_tokens: prompt,
      completion_tokens: completion,
      prompt_tokens_details: { cached_tokens: of('cached_tokens') },
      completion_tokens_details: { reasoning_tokens: of('reasoning_tokens') },
    };
  };
}
