import { uploadPurposes } from '../../core/file.ts';
import { Type } from '../../wire/json-schema.ts';
import { oneOf } from '../../wire/schema.ts';
import { expiryBounds } from '../receive-upload.ts';

/** The fields of an upload (specification, section 4.3), in any order. */
export const uploadFormSchema = Type.Object(
  {
    file: { type: 'string', format: 'binary', description: 'For a batch JSONL, else any bytes.' },
    purpose: oneOf(uploadPurposes, {
      description: 'batch everywhere, others where files.purposes of the configuration opens them.',
    }),
    'expires_after[anchor]': Type.Optional(Type.Literal('created_at')),
    'expires_after[seconds]': Type.Optional(
      Type.Integer({ minimum: expiryBounds.shortest, maximum: expiryBounds.longest }),
    ),
  },
  { title: 'UploadForm' },
);
