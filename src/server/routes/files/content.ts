import { create as contentDisposition } from 'content-disposition';
import type { StoredFile } from '../../../core/file.ts';
import { bytes } from '../../answer.ts';
import type { Route } from '../../route.ts';

/** `GET /v1/files/{file_id}/content`: always a download, so that a stored file cannot render as a page. */
export const getFileContent: Route = {
  method: 'GET',
  path: '/v1/files/:file_id/content',
  access: 'files',
  id: { prefix: 'file-', what: 'file' },
  docs: {
    name: 'File Content',
    summary: "The file's bytes, as they were uploaded",
    tag: 'Files',
    answer: { status: 200, type: 'application/octet-stream' },
  },
  async handle({ caller, param, method }, { files }) {
    if (method === 'HEAD') return bytes(null, headersOf(await files.get(caller, param)));
    const { file, bytes: content } = await files.content(caller, param);
    return bytes(content, headersOf(file));
  },
};

function headersOf(file: StoredFile): Record<string, string> {
  return {
    'content-type': 'application/octet-stream',
    'content-length': String(file.bytes),
    'content-disposition': contentDisposition(file.filename),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, no-store',
  };
}
