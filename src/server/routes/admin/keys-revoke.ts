import { presentKey } from '../../../wire/admin/keys.ts';
import { json } from '../../answer.ts';
import { keySchema } from '../../openapi/answer-schemas.ts';
import type { Route } from '../../route.ts';

/** `DELETE /v1/admin/keys/{key_id}`. Revoking again is fine and keeps the first instant. */
export const revokeKey: Route = {
  method: 'DELETE',
  path: '/v1/admin/keys/:key_id',
  access: 'admin',
  id: { prefix: 'key_', what: 'key' },
  docs: {
    name: 'Revoke Key',
    summary: 'Revoke a key, within a second everywhere',
    tag: 'Admin',
    answer: { status: 200, type: 'application/json', schema: keySchema },
  },
  handle: async ({ param }, { accounts }) => json(200, presentKey(await accounts.keys.revoke(param))),
};
