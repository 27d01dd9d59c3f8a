import { parseFileListQuery } from '../../../wire/file/list.ts';
import { presentFile } from '../../../wire/file/present.ts';
import { listBody } from '../../../wire/list.ts';
import { json } from '../../answer.ts';
import { fileSchema, pageOf } from '../../openapi/answer-schemas.ts';
import { fileListQuery } from '../../openapi/query-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/files`. */
export const listFiles: Route = {
  method: 'GET',
  path: '/v1/files',
  access: 'files',
  docs: {
    name: 'List Files',
    summary: 'The files of the org, newest first unless asked otherwise',
    tag: 'Files',
    query: fileListQuery,
    answer: { status: 200, type: 'application/json', schema: pageOf(fileSchema) },
  },
  async handle({ caller, query }, { files }) {
    const page = await files.list(caller, parseFileListQuery(query));
    return json(200, listBody(page.files.map(presentFile), page.hasMore));
  },
};
