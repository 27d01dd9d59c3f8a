import type { RemoteSecretsKey } from '../../client/resources.ts';
import { asTable, group, queryCommand } from '../shared/commands.ts';

const show = asTable<RemoteSecretsKey>({
  key: ({ id }) => id,
  state: ({ state }) => state,
  secrets: ({ secrets }) => String(secrets),
});

const list = queryCommand({
  usage: 'list',
  about: 'list the keys that seal stored webhook secrets',
  isAdmin: true,
  examples: [''],
  ask: async ({ secrets }) => (await secrets.list()).data,
  show,
});

const rotate = queryCommand({
  usage: 'rotate',
  about: 'seal all stored webhook secrets with the configured secrets_key',
  isAdmin: true,
  examples: [''],
  ask: async ({ secrets }) => (await secrets.rotate()).data,
  show(keys: RemoteSecretsKey[], terminal) {
    show(keys, terminal);
    if (keys.some(({ state }) => state === 'unknown'))
      terminal.note(
        'Secrets under an unknown key were left as they are: add that key to accepted_secrets_keys and run this again, or give those webhooks new secrets (offpeak webhooks rotate).',
      );
  },
});

export const secrets = group('secrets', [list, rotate]);
