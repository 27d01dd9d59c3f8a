import { invalid } from '../core/errors.ts';
import { type UploadPurpose, uploadPurposes } from '../core/file.ts';
import { quoted } from '../wire/json/parse.ts';
import { integer, literal, object, oneOf } from '../wire/schema/schema.ts';
import type { Upload } from '../files/files.ts';
import { cleanFilename } from './filename.ts';
import type { FormPart } from './read-form.ts';

/** What an upload form says (specification, section 4.3). */
export interface UploadForm {
  upload: Upload;
  filename: string;
  purpose: UploadPurpose;
  expiresAfterSeconds: number | null;
}

/** Seconds (specification, section 8). */
const expiryBounds = { shortest: 3_600, longest: 2_592_000 } as const;

/** The fields of an upload (specification, section 4.3), in any order. */
export const uploadFormSchema = object(
  {
    file: { type: 'string', format: 'binary', description: 'For a batch JSONL, else any bytes.' },
    purpose: oneOf(uploadPurposes, {
      description: 'batch everywhere, others where files.purposes of the configuration opens them.',
    }),
    'expires_after[anchor]?': literal('created_at'),
    'expires_after[seconds]?': integer({ minimum: expiryBounds.shortest, maximum: expiryBounds.longest }),
  },
  { title: 'UploadForm' },
);

const fieldNames = ['purpose', 'expires_after[anchor]', 'expires_after[seconds]'] as const;
type FieldName = (typeof fieldNames)[number];

/** What is on its way through the server of any upload: buffers of the socket and the form, and one chunk. */
const passingBytes = 262_144;

/**
 * Takes the fields in any order and passes the file's bytes on as they come. Fields with other names are left alone,
 * unless they mean that the file is to expire.
 * When it throws, the upload it began is aborted.
 * @throws ApiError `validation_error`, `payload_too_large`, what `hold` throws, or what the upload throws
 */
export async function receiveUpload(
  parts: AsyncIterable<FormPart>,
  begin: (purpose: UploadPurpose | 'unknown') => Promise<Upload>,
  hold: (bytes: number) => void,
  purposes: readonly UploadPurpose[],
): Promise<UploadForm> {
  const fields: Partial<Record<FieldName, string>> = {};
  // With one alone there is nothing to wait for.
  let purpose = purposes.length === 1 ? purposes[0] : undefined;
  let file: { upload: Upload; filename: string } | undefined;
  try {
    for await (const part of parts) {
      if (part.kind === 'field') {
        noteField(fields, part);
        if (part.name === 'purpose') purpose = readPurpose(part.value, purposes);
      } else if (part.name !== 'file') throw invalid(part.name, 'no file is expected in this field');
      else if (file) throw invalid('file', 'sent more than once');
      else {
        const filename = cleanFilename(part.filename);
        file = { upload: await begin(purpose ?? 'unknown'), filename };
        for await (const chunk of part.bytes) {
          await file.upload.write(chunk);
          hold(passingBytes + file.upload.held);
        }
      }
    }
    if (fields.purpose === undefined || purpose === undefined)
      throw invalid('purpose', 'required, but missing');
    if (!file) throw invalid('file', 'required, but missing');
    return { ...file, purpose, expiresAfterSeconds: readExpiry(fields) };
  } catch (error) {
    await file?.upload.abort();
    throw error;
  }
}

function noteField(
  fields: Partial<Record<FieldName, string>>,
  { name, value }: { name: string; value: string },
): void {
  if (name === 'file') throw invalid('file', 'must be sent as a file, not as a text field');
  const known = fieldNames.find((field) => field === name);
  // Left alone, the file would stay for ever.
  if (!known && name.startsWith('expires_after'))
    throw invalid(name, 'unknown; send expires_after[anchor] and expires_after[seconds]');
  if (!known) return;
  if (fields[known] !== undefined) throw invalid(name, 'sent more than once');
  fields[known] = value;
}

function readPurpose(value: string, purposes: readonly UploadPurpose[]): UploadPurpose {
  const found = purposes.find((name) => name === value);
  if (found !== undefined) return found;
  const expected = purposes.map((name) => `"${name}"`).join(' or ');
  const isClosed = uploadPurposes.some((name) => name === value);
  const hint = isClosed ? ", which files.purposes of the server's configuration would open" : '';
  throw invalid('purpose', `expected ${expected}, got ${quoted(value)}${hint}`);
}

function readExpiry(fields: Partial<Record<FieldName, string>>): number | null {
  const { 'expires_after[anchor]': anchor, 'expires_after[seconds]': seconds } = fields;
  if (anchor === undefined && seconds === undefined) return null;
  if (anchor === undefined) throw invalid('expires_after[anchor]', 'required beside expires_after[seconds]');
  if (seconds === undefined) throw invalid('expires_after[seconds]', 'required beside expires_after[anchor]');
  if (anchor !== 'created_at') throw invalid('expires_after[anchor]', 'expected "created_at"');
  const { shortest, longest } = expiryBounds;
  const value = /^[0-9]{1,9}$/.test(seconds) ? Number(seconds) : Number.NaN;
  if (!(value >= shortest && value <= longest))
    throw invalid('expires_after[seconds]', `expected a whole number from ${shortest} to ${longest}`);
  return value;
}
