import type { FastifyRequest } from 'fastify';
import { ApiError } from '../core/errors.ts';

/** One part of a multipart body. A file's bytes have to be read before the next part comes. */
export type FormPart =
  | { kind: 'field'; name: string; value: string }
  | { kind: 'file'; name: string; filename: string | undefined; bytes: AsyncIterable<Uint8Array> };

/** Small numbers: the only form of the API has four fields. */
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
 * The parts of a multipart body in the order they arrive, streamed with back-pressure.
 * @throws ApiError `validation_error` for what is no proper form, also while a file is read
 */
export function readForm(request: FastifyRequest): AsyncGenerator<FormPart> {
  return translateErrors(request, readParts(request));
}

async function* readParts(request: FastifyRequest): AsyncGenerator<FormPart> {
  // Whatever is sent as `file` is a file, whether it names itself or not.
  const isPartAFile = (name: string, type: string | undefined, filename: string | undefined) =>
    name === 'file' || filename !== undefined || type === 'application/octet-stream';
  const options = { limits, isPartAFile, throwFileSizeLimit: false };
  for await (const part of request.parts(options as object)) {
    const name = part.fieldname;
    if (name.length > limits.fieldNameSize) throw malformed('A field has too long a name.');
    if (part.type === 'file') {
      yield { kind: 'file', name, filename: part.filename, bytes: translateErrors(request, part.file) };
      continue;
    }
    if (part.valueTruncated) throw malformed(`${JSON.stringify(name)}: the field is too long.`);
    yield { kind: 'field', name, value: String(part.value) };
  }
}

/** Passes on what comes; what the form library throws becomes what a client understands. */
async function* translateErrors<T>(request: FastifyRequest, source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    throw error instanceof ApiError || isGone(request) ? error : toFormError(error);
  }
}

/** A body that was read to its end is destroyed too; one that was cut off is not complete. */
function isGone({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete;
}

function toFormError(error: unknown): ApiError {
  const { code, message } = error as { code?: string; message: string };
  if (code?.endsWith('_LIMIT')) return malformed('The form has too many parts.', error);
  if (code === 'FST_PROTO_VIOLATION') return malformed('The form has a field with a forbidden name.', error);
  if (/boundary/i.test(message)) return malformed('The Content-Type names no usable boundary.', error);
  if (/unexpected end|terminated early/i.test(message))
    return malformed('The form ends early: its final boundary is missing.', error);
  return malformed('The body is not a proper multipart form.', error);
}

function malformed(message: string, cause?: unknown): ApiError {
  return new ApiError('validation_error', message, { cause });
}
