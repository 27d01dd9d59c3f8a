import { sum } from '../../base/sum.ts';
import { estimateText } from '../chat/request/estimate-prompt.ts';
import type { DirectFormat } from '../shared/direct-format.ts';
import { scoringEngineFields } from '../schema/engine-fields.ts';
import * as t from '../schema/schema.ts';
import { type AddFault, validator } from '../schema/validate.ts';
import { serviceTierField } from '../shared/service-tier.ts';
import { scoredTexts, type ScoreRequest, type Scores } from './score.ts';

const maxPairs = 10_000;

const texts = (description: string) => ({
  type: ['string', 'array', 'null'],
  description,
  expected: 'a string or an array of strings',
  minLength: 1,
  minItems: 1,
  maxItems: maxPairs,
  items: t.string({ minLength: 1 }),
});

const pairs = [
  ['text_1', 'text_2'],
  ['queries', 'documents'],
] as const;

const requestSchema = t.object(
  {
    model: t.requestedModel,
    'text_1?': texts('One text, or as many as the second list has.'),
    'text_2?': texts('Texts that are scored against the first.'),
    'queries?': texts('Another name of text_1.'),
    'documents?': texts('Another name of text_2.'),
    ...serviceTierField,
  },
  { title: 'ScoreRequest', ...t.known('user', ...scoringEngineFields) },
);

const isGiven = (value: unknown) => value !== undefined && value !== null;

/** Rules that the schema cannot express: one pair of names, and lists that match. */
function checkPairs(request: ScoreRequest, add: AddFault): void {
  const named = pairs.filter((names) => names.some((name) => isGiven(request[name])));
  const [names = pairs[0]] = named;
  if (named.length > 1) return add(names[0], 'expected either text_1 and text_2, or queries and documents');
  const missing = names.filter((name) => !isGiven(request[name]));
  for (const name of missing) add(name, 'required, but missing');
  if (missing.length > 0) return;
  const { first, second } = scoredTexts(request);
  if (first.length !== 1 && first.length !== second.length)
    add(
      names[1],
      `expected as many texts as in ${names[0]} (${first.length}), or one in ${names[0]}; got ${second.length}`,
    );
}

const responseSchema = t.object(
  {
    id: t.string({ pattern: '^score_' }),
    object: t.literal('list'),
    created: t.unixTime,
    model: t.servedModel,
    data: t.array(
      t.object({
        index: t.integer({ description: 'Position of the pair.' }),
        object: t.literal('score'),
        score: t.number({ description: 'Its scale depends on the model.' }),
      }),
    ),
    usage: t.object({ prompt_tokens: t.integer(), total_tokens: t.integer() }),
  },
  { title: 'Scores' },
);

export const scoreFormat: DirectFormat<ScoreRequest, Scores> = {
  endpoint: '/v1/score',
  name: 'Score',
  summary: 'Score the similarity of pairs of texts',
  requestSchema,
  responseSchema,
  check: validator(requestSchema, checkPairs),
  smallest: { text_1: 'a', text_2: 'a' },
  inputTokens(request) {
    const { first, second } = scoredTexts(request);
    const repeats = second.length / first.length;
    return repeats * sum(first.map(estimateText)) + sum(second.map(estimateText));
  },
  idPrefix: 'score_',
  presenter:
    () =>
    ({ scores, promptTokens }, { id, created, model }) => ({
      id,
      object: 'list',
      created,
      model,
      data: scores.map((score, index) => ({ index, object: 'score', score })),
      usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    }),
};
