import { invalid } from '../../core/errors.ts';
import { type UploadPurpose, uploadPurposes } from '../../core/file.ts';
import { quoted } from '../../wire/json/parse.ts';
import { integer, literal, object, oneOf } from '../../wire/schema/schema.ts';
import type { Upload } from '../../files/files.ts';
import { cleanFilename } from './filename.ts';
import type { FormPart } from './read-form.ts';

export interface UploadForm {
  upload: Upload;
  filename: string;
  purpose: UploadPurpose;
  expiresAfterSeconds: number | null;
}

/** Bounds of `expires_after[seconds]`: one hour to 30 days, as in OpenAI's Files API. */
const expirySeconds = { min: 3_600, max: 2_592_000 } as const;

export const uploadFormSchema = object(
  {
    file: {
      type: 'string',
      format: 'binary',
      description: 'JSON Lines for purpose batch, otherwise any bytes.',
    },
    purpose: oneOf(uploadPurposes, {
      description: 'batch, or another purpose that files.purposes of the configuration allows.',
    }),
    'expires_after[anchor]?': literal('created_at'),
    'expires_after[seconds]?': integer({ minimum: expirySeconds.min, maximum: expirySeconds.max }),
  },
  { title: 'UploadForm' },
);

const fieldNames = ['purpose', 'expires_after[anchor]', 'expires_after[seconds]'] as const;
type Fields = Partial<Record<(typeof fieldNames)[number], string>>;

/** Memory of an upload in transit: the buffers of the socket and the form, and one chunk. */
const transitBytes = 262_144;

/**
 * Reads an upload form, its fields in any order, and streams the file into the upload. Unknown fields are ignored, except
 * those named `expires_after...`. On an error, the upload is aborted.
 * @throws ApiError `validation_error`, `payload_too_large`, or errors of `reserve` and the upload
 */
export async function receiveUpload(
  parts: AsyncIterable<FormPart>,
  begin: (purpose: UploadPurpose | 'unknown') => Promise<Upload>,
  reserve: (bytes: number) => void,
  purposes: readonly UploadPurpose[],
): Promise<UploadForm> {
  const fields: Fields = {};
  let purpose = purposes.length === 1 ? purposes[0] : undefined;
  let file: { upload: Upload; filename: string } | undefined;
  try {
    for await (const part of parts) {
      if (part.kind === 'field') {
        noteField(fields, part);
        if (part.name === 'purpose') purpose = readPurpose(part.value, purposes);
      } else if (part.name !== 'file')
        throw invalid(part.name, 'unexpected file; send the file in the field "file"');
      else if (file) throw invalid('file', 'sent more than once');
      else {
        const filename = cleanFilename(part.filename);
        file = { upload: await begin(purpose ?? 'unknown'), filename };
        for await (const chunk of part.bytes) {
          await file.upload.write(chunk);
          reserve(transitBytes + file.upload.held);
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

function noteField(fields: Fields, { name, value }: { name: string; value: string }): void {
  if (name === 'file') throw invalid('file', 'must be sent as a file, not as a text field');
  const known = fieldNames.find((field) => field === name);
  // Ignoring a misspelled expiry would keep the file forever.
  if (!known && name.startsWith('expires_after'))
    throw invalid(name, 'unknown field; send expires_after[anchor] and expires_after[seconds]');
  if (!known) return;
  if (fields[known] !== undefined) throw invalid(name, 'sent more than once');
  fields[known] = value;
}

function readPurpose(value: string, purposes: readonly UploadPurpose[]): UploadPurpose {
  const found = purposes.find((name) => name === value);
  if (found !== undefined) return found;
  const expected = purposes.map((name) => `"${name}"`).join(' or ');
  const isDisabled = uploadPurposes.some((name) => name === value);
  const hint = isDisabled ? ' (not enabled in files.purposes of the server configuration)' : '';
  throw invalid('purpose', `expected ${expected}, got ${quoted(value)}${hint}`);
}

function readExpiry(fields: Fields): number | null {
  const { 'expires_after[anchor]': anchor, 'expires_after[seconds]': seconds } = fields;
  if (anchor === undefined && seconds === undefined) return null;
  if (anchor === undefined) throw invalid('expires_after[anchor]', 'required with expires_after[seconds]');
  if (seconds === undefined) throw invalid('expires_after[seconds]', 'required with expires_after[anchor]');
  if (anchor !== 'created_at') throw invalid('expires_after[anchor]', 'expected "created_at"');
  const { min, max } = expirySeconds;
  const value = /^[0-9]{1,9}$/.test(seconds) ? Number(seconds) : Number.NaN;
  if (!(value >= min && value <= max))
    throw invalid('expires_after[seconds]', `expected a whole number from ${min} to ${max}`);
  return value;
}
