import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors.ts';

/** Part of a multipart body. The bytes of a file must be read before the next part. */
export type FormPart =
  | { kind: 'field'; name: string; value: string }
  | { kind: 'file'; name: string; filename: string | undefined; bytes: AsyncIterable<Uint8Array> };

/** Limits that are small because the only form of the API has four fields. */
const limits = {
  parts: 20,
  fields: 16,
  files: 2,
  fieldNameSize: 100,
  fieldSize: 10_000,
  headerPairs: 50,
  fileSize: Infinity,
};

/**
 * Parts of a multipart body in their order, streamed with back-pressure.
 * @throws ApiError `validation_error` for an invalid form, also while a file is read
 */
export function readForm(request: FastifyRequest): AsyncGenerator<FormPart> {
  return translateErrors(request, readParts(request));
}

async function* readParts(request: FastifyRequest): AsyncGenerator<FormPart> {
  // The field `file` is a file even without a filename.
  const isPartAFile = (name: string, type: string | undefined, filename: string | undefined) =>
    name === 'file' || filename !== undefined || type === 'application/octet-stream';
  const options = { limits, isPartAFile, throwFileSizeLimit: false };
  for await (const part of request.parts(options as object)) {
    const name = part.fieldname;
    if (name.length > limits.fieldNameSize)
      throw malformed(`A field name is longer than ${limits.fieldNameSize} characters.`);
    if (part.type === 'file') {
      yield { kind: 'file', name, filename: part.filename, bytes: translateErrors(request, part.file) };
      continue;
    }
    if (part.valueTruncated)
      throw malformed(`The field ${JSON.stringify(name)} is longer than ${limits.fieldSize} bytes.`);
    yield { kind: 'field', name, value: String(part.value) };
  }
}

/** Passes a source through and turns errors of the form library into API errors. */
async function* translateErrors<T>(request: FastifyRequest, source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    // A body that was read completely is destroyed, too, but complete.
    const isDisconnected = request.raw.destroyed && !request.raw.complete;
    throw error instanceof ApiError || isDisconnected ? error : toFormError(error);
  }
}

function toFormError(error: unknown): ApiError {
  const { code, message } = error as { code?: string; message: string };
  if (code?.endsWith('_LIMIT'))
    return malformed(`The form has too many parts: at most ${limits.parts} are allowed.`, error);
  if (code === 'FST_PROTO_VIOLATION') return malformed('The form has a field with a reserved name.', error);
  if (/boundary/i.test(message)) return malformed('The Content-Type header has no valid boundary.', error);
  if (/unexpected end|terminated early/i.test(message))
    return malformed('The form is incomplete: its final boundary is missing.', error);
  return malformed('The body is not a valid multipart form.', error);
}

function malformed(message: string, cause?: unknown): ApiError {
  return new ApiError('validation_error', message, { cause });
}
