import { invalid } from '../../core/errors.ts';
import type { Model } from '../../core/model.ts';
import { quoted } from '../json/parse.ts';
import { type Query, cursorPageParams, textParam } from '../shared/query-params.ts';

/** Large enough for all models, because OpenAI clients never ask for a second page. */
export const modelListLimits = { max: 1_000, default: 1_000 } as const;

/** Reads the query of `GET /v1/models`, with OpenAI's or Anthropic's cursors. @throws ApiError `validation_error` */
export function parseModelListQuery(query: Query): ModelListParams {
  return cursorPageParams(
    { ...query, after_id: textParam(query, 'after_id') ?? textParam(query, 'after') },
    modelListLimits,
  );
}

type ModelListParams = ReturnType<typeof cursorPageParams>;

export type ModelPage = ReturnType<typeof pageOfModels>;

/** Cuts the page after or before a model. @throws ApiError `validation_error` if the cursor is not in the list */
export function pageOfModels(all: readonly Model[], { limit, after, before }: ModelListParams) {
  if (before !== undefined) {
    const end = indexOf(all, before, 'before_id');
    const start = Math.max(0, end - limit);
    return { models: all.slice(start, end), hasMore: start > 0 };
  }
  const start = after === undefined ? 0 : indexOf(all, after, 'after_id') + 1;
  return { models: all.slice(start, start + limit), hasMore: start + limit < all.length };
}

function indexOf(all: readonly Model[], id: string, param: string): number {
  const index = all.findIndex((model) => model.id === id);
  if (index < 0) throw invalid(param, `${quoted(id)} is not a model of this list`);
  return index;
}
