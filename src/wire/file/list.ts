import { isId } from '../../base/ids.ts';
import { type FilePurpose, filePurposes } from '../../core/file.ts';
import { type Query, choiceParam, pageParams } from '../list.ts';

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
  const purpose = choiceParam(query, 'purpose', filePurposes);
  return {
    ...pageParams(query, fileListLimits, (id) => isId('file-', id)),
    order: choiceParam(query, 'order', ['asc', 'desc']) ?? 'desc',
    ...(purpose !== undefined && { purpose }),
  };
}
