import { fieldsOf } from '../../../base/fields.ts';
import { invalid } from '../../../core/errors.ts';
import { scoreFormat } from '../../../wire/score/format.ts';
import { scoredTexts, type ScoreRequest, type Scores } from '../../../wire/score/score.ts';
import { unusable } from '../connection/parse-body.ts';
import { named } from '../request/request-members.ts';
import { type DirectCodec, inputTokens } from './direct-codec.ts';
import { readRanking, usageOf } from './rerank.ts';

/** Scores in the form of vLLM, under the names that all its versions know. */
export const scoreCodec: DirectCodec<ScoreRequest, Scores> = {
  path: 'score',
  members: named('model text_1 text_2'),

  edit({ queries, documents }, edits) {
    if (queries) edits.set('text_1', JSON.stringify(queries));
    if (documents) edits.set('text_2', JSON.stringify(documents));
  },

  expect(request) {
    const count = scoredTexts(request.value).second.length;
    return {
      read(answer, options) {
        const scores = readScores(answer['data'], count);
        return { scores, promptTokens: inputTokens(answer['usage'], () => estimate(request), options) };
      },
    };
  },
};

/** Scores of one text against others, as a ranking: for servers that only rank. */
export const scoreByRerankCodec: DirectCodec<ScoreRequest, Scores> = {
  path: 'rerank',
  members: named('model'),
  listName: 'results',

  edit(request, edits) {
    const { first, second } = scoredTexts(request);
    const [query] = first;
    if (first.length > 1)
      throw invalid(
        request.text_1 ? 'text_1' : 'queries',
        `expected one text, got ${first.length}: the server of this model scores one text against others`,
      );
    edits.set('query', JSON.stringify(query)).set('documents', JSON.stringify(second));
  },

  expect(request) {
    const count = scoredTexts(request.value).second.length;
    return {
      read(answer, options) {
        const scores: number[] = [];
        for (const { index, score } of readRanking(answer['results'], count, count)) scores[index] = score;
        return { scores, promptTokens: inputTokens(usageOf(answer), () => estimate(request), options) };
      },
    };
  },
};

const estimate = ({ value }: { value: ScoreRequest }): number => scoreFormat.inputTokens(value);

/** @throws ApiError `invalid_upstream_response` */
function readScores(data: unknown, count: number): number[] {
  if (!Array.isArray(data)) throw unusable('has no scores');
  if (data.length !== count) throw unusable(`has ${data.length} scores for ${count} pairs`);
  const scores: number[] = [];
  for (const [at, item] of data.entries()) {
    const { index = at, score } = fieldsOf(item);
    if (!Number.isFinite(score)) throw unusable('has a score that is not a number');
    const place = Number.isInteger(index) ? (index as number) : -1;
    if (place < 0 || place >= count || scores[place] !== undefined)
      throw unusable('has invalid indexes of scores');
    scores[place] = score as number;
  }
  return scores;
}
