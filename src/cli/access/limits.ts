import { Option } from 'commander';
import type { RemoteLimit } from '../../client/resources.ts';
import type { ClientOptions } from '../shared/cli.ts';
import { asTable, queryCommand } from '../shared/commands.ts';
import { hasOnlyAdminKey } from '../shared/connect.ts';

interface Asked {
  org?: string;
  keyId?: string;
}

const table = asTable<RemoteLimit>({
  limit: ({ name, model }) => (model === null ? name : `${name}.${model}`),
  of: ({ owner }) => owner,
  used: ({ used, limit }) => `${used} of ${limit}`,
  left: ({ remaining }) => String(remaining),
  'more at': ({ available_at: at }) => at ?? '',
  'all free at': ({ resets_at: at }) => at ?? '',
});

export const limits = queryCommand({
  usage: 'limits',
  about: 'show the limits of the key and its org, and how much of each is used',
  isAdmin: ({ org, keyId, ...options }: Asked & ClientOptions, cli) =>
    org !== undefined || keyId !== undefined || hasOnlyAdminKey(cli, options),
  options: [
    new Option('--org <org>', 'limits of this org, given by its id or name (admin key)').conflicts('keyId'),
    new Option('--key-id <id>', 'limits of this API key and its org (admin key)'),
  ],
  examples: ['', '--org search', '--key-id key_0199f3a2 --json'],
  ask(client, _, { org, keyId }: Asked) {
    if (org !== undefined) return client.orgs.limits(org);
    return keyId === undefined ? client.limits() : client.keys.limits(keyId);
  },
  show({ org, org_id: orgId, key_id: keyId, data }, terminal) {
    table(data, terminal);
    const name = org === null ? orgId : `${org} (${orgId})`;
    terminal.note(keyId === null ? `Org ${name}.` : `Org ${name}, key ${keyId}.`);
  },
});
