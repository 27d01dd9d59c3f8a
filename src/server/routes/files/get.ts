import { presentFile } from '../../../wire/file/present.ts';
import { json } from '../../answer.ts';
import { fileSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/files/{file_id}`. */
export const getFile: Route = {
  method: 'GET',
  path: '/v1/files/:file_id',
  access: 'files',
  id: { prefix: 'file-', what: 'file' },
  docs: {
    name: 'Retrieve File',
    summary: 'One file, without its content',
    tag: 'Files',
    answer: { status: 200, type: 'application/json', schema: fileSchema },
  },
  handle: async ({ caller, param }, { files }) => json(200, presentFile(await files.get(caller, param))),
};
