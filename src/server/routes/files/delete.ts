import { presentDeletedFile } from '../../../wire/file/present.ts';
import { json } from '../../answer.ts';
import { deletedFileSchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `DELETE /v1/files/{file_id}`. */
export const deleteFile: Route = {
  method: 'DELETE',
  path: '/v1/files/:file_id',
  access: 'files',
  id: { prefix: 'file-', what: 'file' },
  docs: {
    name: 'Delete File',
    summary: 'Remove a file that no unfinished batch reads',
    tag: 'Files',
    answer: { status: 200, type: 'application/json', schema: deletedFileSchema },
  },
  async handle({ caller, param }, { files }) {
    await files.remove(caller, param);
    return json(200, presentDeletedFile(param));
  },
};
