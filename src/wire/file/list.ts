import { isId } from '../../base/ids.ts';
import { type FilePurpose, filePurposes } from '../../core/file.ts';
import { type Query, choiceParam, cursorParam, limitParam } from '../list.ts';

/** What `GET /v1/files` may ask for (specification, section 4.2; api.md, section 3). */
export interface FileListParams {
  limit: number;
  order: 'asc' | 'desc';
  after?: string;
  purpose?: FilePurpose;
}

export const fileListLimits = { most: 10_000, otherwise: 100 } as const;

/** @throws ApiError `validation_error` */
export function parseFileListQuery(query: Query): FileListParams {
  const after = cursorParam(query, (id) => isId('file-', id));
  const purpose = choiceParam(query, 'purpose', filePurposes);
  return {
    limit: limitParam(query, fileListLimits),
    order: choiceParam(query, 'order', ['asc', 'desc']) ?? 'desc',
    ...(after !== undefined && { after }),
    ...(purpose !== undefined && { purpose }),
  };
}
