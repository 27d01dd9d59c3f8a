import { create as contentDisposition } from 'content-disposition';
import type { StoredFile, UploadPurpose } from '../../core/file.ts';
import { parseFileListQuery } from '../../wire/file/list.ts';
import { presentDeletedFile, presentFile } from '../../wire/file/present.ts';
import type { ByteRange } from '../../files/files.ts';
import { type Answer, json } from '../answer/answer.ts';
import { idempotencyTokens, formHash, replayHeaders } from '../request/idempotency.ts';
import { listAnswer } from '../answer/list-answer.ts';
import { deletedFileSchema, fileSchema, pageOf } from '../openapi/answer-schemas.ts';
import { fileListQuery } from '../openapi/query-schemas.ts';
import { rangedBytes } from '../answer/ranged-bytes.ts';
import { receiveUpload, uploadFormSchema } from '../request/receive-upload.ts';
import type { Incoming, Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

export const fileRoutes = defineRoutes({ access: 'files', tag: 'Files' }, [
  {
    on: 'POST /v1/files',
    name: 'Create File',
    summary: 'Upload a file. Every line of a batch input is validated before the file is stored',
    form: uploadFormSchema,
    status: 201,
    answer: fileSchema,
    handle: upload,
  },
  {
    on: 'GET /v1/files',
    name: 'List Files',
    summary: 'List the files of the org, newest first by default',
    query: fileListQuery,
    strictQuery: true,
    answer: pageOf(fileSchema),
    handle: ({ caller, query, signal }, { files }) =>
      listAnswer(files.list(caller, parseFileListQuery(query), signal), {
        present: presentFile,
        owner: caller.orgId,
      }),
  },
  {
    on: 'GET /v1/files/:file_id',
    name: 'Retrieve File',
    summary: 'Get a file, without its content',
    answer: fileSchema,
    handle: async ({ caller, param }, { files }) => json(200, presentFile(await files.get(caller, param))),
  },
  {
    on: 'GET /v1/files/:file_id/content',
    name: 'File Content',
    summary: 'Download the content of a file',
    type: 'application/octet-stream',
    handle: download,
  },
  {
    on: 'DELETE /v1/files/:file_id',
    name: 'Delete File',
    summary: 'Delete a file that no unfinished batch uses',
    answer: deletedFileSchema,
    async handle({ caller, param }, { files }) {
      await files.remove(caller, param);
      return json(200, presentDeletedFile(param));
    },
  },
]);

async function upload(incoming: Incoming, { files, clock }: Services): Promise<Answer> {
  const token = idempotencyTokens(incoming, 'files');
  const begin = (purpose: UploadPurpose | 'unknown') =>
    files.begin(incoming.caller, { purpose, rules: incoming.surface.rules });
  const form = await receiveUpload(incoming.form(), begin, incoming.reserveBytes, files.purposes);
  const { upload: received, filename, purpose, expiresAfterSeconds } = form;
  const createdAt = clock.now();
  const expiresAt = expiresAfterSeconds === null ? null : createdAt + expiresAfterSeconds * 1000;
  const sealed = await received.seal({ purpose, filename, createdAt, expiresAt });
  const { sha256 } = sealed.file;
  const hash = formHash({ filename, purpose, sha256, expires: String(expiresAfterSeconds) });
  await incoming.recheck().catch(async (error: unknown) => {
    await sealed.discard();
    throw error;
  });
  const { file, replayed } = await sealed.commit(token(hash));
  return json(201, presentFile(file), replayHeaders(replayed));
}

async function download(incoming: Incoming, { files }: Services): Promise<Answer> {
  const file = await files.get(incoming.caller, incoming.param);
  const content = {
    size: file.bytes,
    sha256: file.sha256,
    read: (range?: ByteRange) => files.read(file, range),
  };
  return rangedBytes(incoming, content, headersOf(file));
}

/** Headers that force a download, so that a stored file cannot render as a page. */
function headersOf(file: StoredFile) {
  return {
    'content-type': 'application/octet-stream',
    'content-disposition': contentDisposition(file.filename),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, no-store',
  };
}
