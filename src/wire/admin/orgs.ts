import { Type } from '../json-schema.ts';
import { isoSeconds } from '../../base/clock.ts';
import type { Org } from '../../core/org.ts';
import { parseJson } from '../json/parse.ts';
import { string } from '../schema.ts';
import { faultsError, validator } from '../validate.ts';

/** `POST /v1/admin/orgs` (api.md, section 8). */
export const createOrgSchema = Type.Object(
  { name: string({ minLength: 1, maxLength: 200 }) },
  { additionalProperties: false, title: 'CreateOrg' },
);

const check = validator(createOrgSchema);

/** @throws ApiError `validation_error` */
export function parseCreateOrg(text: string): { name: string } {
  const { value } = parseJson(text, { what: 'The request body' });
  const faults = check(value);
  if (faults.length > 0) throw faultsError(faults);
  return value as { name: string };
}

export function presentOrg(org: Org) {
  return { id: org.id, object: 'org', name: org.name, created_at: isoSeconds(org.createdAt) };
}
