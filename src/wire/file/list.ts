import { isId } from '../../base/ids.ts';
import { type FilePurpose, filePurposes } from '../../core/file.ts';
import { type ItemsQuery, parseItemsQuery, type Query, choiceParam } from '../shared/query-params.ts';

/** Query of `GET /v1/files`. */
export interface FileListParams extends ItemsQuery {
  purpose?: FilePurpose;
}

export const fileListLimits = { max: 10_000, default: 100 } as const;

/** @throws ApiError `validation_error` */
export function parseFileListQuery(query: Query): FileListParams {
  const purpose = choiceParam(query, 'purpose', filePurposes);
  return {
    ...parseItemsQuery(query, 'desc', (id) => isId('file-', id), fileListLimits),
    ...(purpose !== undefined && { purpose }),
  };
}
