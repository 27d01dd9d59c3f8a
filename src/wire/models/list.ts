import { invalid } from '../../core/errors.ts';
import type { Model } from '../../core/model.ts';
import { quoted } from '../json/parse.ts';
import { type Query, cursorPageParams, textParam } from '../shared/query-params.ts';

/** More than anybody serves: one family of clients never asks for a second page. */
export const modelListLimits = { max: 1_000, default: 1_000 } as const;

/**
 * What `GET /v1/models` may ask for: the cursors of both families of clients (wire-formats.md, section 1e).
 * @throws ApiError `validation_error`
 */
export function parseModelListQuery(query: Query): ModelListParams {
  return cursorPageParams(
    { ...query, after_id: textParam(query, 'after_id') ?? textParam(query, 'after') },
    modelListLimits,
  );
}

type ModelListParams = ReturnType<typeof cursorPageParams>;

export type ModelPage = ReturnType<typeof pageOfModels>;

/**
 * The models behind one, or those just before one, and whether there are more in that direction.
 * @throws ApiError `validation_error` when the cursor is none of them
 */
export function pageOfModels(all: readonly Model[], { limit, after, before }: ModelListParams) {
  if (before !== undefined) {
    const end = placeOf(all, before, 'before_id');
    const start = Math.max(0, end - limit);
    return { models: all.slice(start, end), hasMore: start > 0 };
  }
  const start = after === undefined ? 0 : placeOf(all, after, 'after_id') + 1;
  return { models: all.slice(start, start + limit), hasMore: start + limit < all.length };
}

function placeOf(all: readonly Model[], id: string, param: string): number {
  const place = all.findIndex((model) => model.id === id);
  if (place < 0) throw invalid(param, `${quoted(id)} is not a model of this list`);
  return place;
}
