import { uploadPurposes } from '../../core/file.ts';
import { integer, object, literal, oneOf } from '../../wire/schema.ts';
import { expiryBounds } from '../receive-upload.ts';

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
