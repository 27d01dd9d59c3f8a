import { priorities } from '../../core/limits.ts';
import { integer, object } from '../schema/schema.ts';
import { parseBody, validator } from '../schema/validate.ts';

/** Body of `PATCH /v1/admin/batches/{id}`. */
export const updateBatchSchema = object(
  {
    priority: integer({
      minimum: priorities.min,
      maximum: priorities.max,
      description: 'Batches of the org with a higher priority run first.',
    }),
  },
  { additionalProperties: false, title: 'UpdateBatch' },
);

const check = validator(updateBatchSchema);

/** @throws ApiError `validation_error` */
export function parseUpdateBatch(text: string): { priority: number } {
  return parseBody<{ priority: number }>(text, check).value;
}
