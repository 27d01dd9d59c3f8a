import { omitNullish } from '../../base/fields.ts';
import { isId } from '../../base/ids.ts';
import { filePurposes } from '../../core/file.ts';
import { parseItemsQuery, type Query, choiceParam } from '../shared/query-params.ts';

export const fileListLimits = { max: 10_000, default: 100 } as const;

/** Reads the query of `GET /v1/files`. @throws ApiError `validation_error` */
export function parseFileListQuery(query: Query) {
  const page = parseItemsQuery(query, 'desc', (id) => isId('file-', id), fileListLimits);
  return { ...page, ...omitNullish({ purpose: choiceParam(query, 'purpose', filePurposes) }) };
}

export type FileListParams = ReturnType<typeof parseFileListQuery>;
