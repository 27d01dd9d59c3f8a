import { presentSecrets } from '../../wire/admin/secrets.ts';
import { listBody } from '../../wire/shared/list-body.ts';
import { json } from '../answer/answer.ts';
import { secretsKeySchema } from '../openapi/account-schemas.ts';
import { pageOf } from '../openapi/answer-schemas.ts';
import { actorOf } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

export const secretsRoutes = defineRoutes({ access: 'admin', tag: 'Admin' }, [
  {
    on: 'GET /v1/admin/secrets',
    name: 'List Secrets Keys',
    summary: 'List the keys that seal stored webhook secrets, with the number of secrets under each',
    strictQuery: true,
    answer: pageOf(secretsKeySchema),
    handle: async (_incoming, { webhooks }) =>
      json(200, listBody((await webhooks.secrets.count()).map(presentSecrets), false)),
  },
  {
    on: 'POST /v1/admin/secrets/rotate',
    name: 'Rotate Secrets Key',
    summary: 'Seal all stored webhook secrets with the configured secrets_key',
    answer: pageOf(secretsKeySchema),
    async handle(incoming, { accounts, webhooks }) {
      const keys = (await webhooks.secrets.reseal()).map(presentSecrets);
      const after = { keys: keys.map(({ id }) => id) };
      await accounts.audit.add(actorOf(incoming), {
        action: 'secrets.rotate',
        target: 'secrets',
        before: null,
        after,
      });
      return json(200, listBody(keys, false));
    },
  },
]);
