import type { UploadPurpose } from '../../../core/file.ts';
import { presentFile } from '../../../wire/file/present.ts';
import { json } from '../../answer.ts';
import { creationOf, formHash, replayHeaders } from '../../creation.ts';
import { receiveUpload } from '../../receive-upload.ts';
import { fileSchema } from '../../openapi/answer-schemas.ts';
import { uploadFormSchema } from '../../openapi/upload-form-schema.ts';
import type { Route } from '../../route.ts';

/** `POST /v1/files`: a file of requests is validated while it comes in and stored only when every line is good. */
export const createFile: Route = {
  method: 'POST',
  path: '/v1/files',
  access: 'files',
  body: 'multipart',
  docs: {
    name: 'Create File',
    summary: 'Upload a file; every line of the requests of a batch is validated before it is stored',
    tag: 'Files',
    body: uploadFormSchema,
    answer: { status: 201, type: 'application/json', schema: fileSchema },
  },
  async handle(incoming, { files, clock }) {
    const creationWith = creationOf(incoming, 'files');
    const begin = (purpose: UploadPurpose | 'unknown') => files.begin(incoming.caller, { purpose });
    const form = await receiveUpload(incoming.form(), begin, incoming.hold, files.purposes);
    const { upload, filename, purpose, expiresAfterSeconds } = form;
    const createdAt = clock.now();
    const expiresAt = expiresAfterSeconds === null ? null : createdAt + expiresAfterSeconds * 1000;
    const sealed = await upload.seal({ purpose, filename, createdAt, expiresAt });
    const { sha256 } = sealed.file;
    const hash = formHash({ filename, purpose, sha256, expires: String(expiresAfterSeconds) });
    await incoming.recheck().catch(async (error: unknown) => {
      await sealed.discard();
      throw error;
    });
    const { file, replayed } = await sealed.commit(creationWith(hash));
    return json(201, presentFile(file), replayHeaders(replayed));
  },
};
