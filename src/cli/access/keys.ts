import { Option } from 'commander';
import type { RemoteKey } from '../../client/resources.ts';
import { queryCommand, group, asTable } from '../shared/commands.ts';

interface NewKey {
  org: string;
  name?: string;
  scopes?: string[];
  models?: string[];
  expires?: string;
}

const create = queryCommand({
  usage: 'create',
  about: 'create an API key, which is shown only once',
  isAdmin: true,
  options: [
    new Option('--org <id>', 'org of the key').makeOptionMandatory(),
    new Option('--name <name>', 'display name'),
    new Option('--scopes <scope...>', 'inference, batches, files, usage, admin (default: all but admin)'),
    new Option('--models <id...>', 'models that the key may use (default: all)'),
    new Option('--expires <time>', 'expiry, such as 2027-01-31T00:00:00Z'),
  ],
  examples: [
    '--org org_0199f3a2 --name ci --scopes batches files',
    '--org org_0199f3a2 --models qwen3-32b --expires 2027-01-31T00:00:00Z',
  ],
  ask: (client, _, { org, name, scopes, models, expires }: NewKey) =>
    client.keys.create({ org_id: org, name, scopes, models, expires_at: expires }),
  show(key, terminal) {
    terminal.record([
      ['id', key.id],
      ['org', key.org_id],
      ['name', key.name],
      ['scopes', key.scopes.join(', ')],
      ['models', key.models?.join(', ')],
      ['ends', key.expires_at],
      ['key', key.key],
    ]);
    terminal.note('Save the key now: it cannot be shown again.');
  },
});

const list = queryCommand({
  usage: 'list',
  about: 'list the API keys',
  isAdmin: true,
  options: [new Option('--org <id>', 'list only keys of this org')],
  examples: ['--org org_0199f3a2'],
  ask: async (client, _, { org }: { org?: string }) => (await client.keys.list(org)).data,
  show: asTable<RemoteKey>({
    id: ({ id }) => id,
    org: (key) => key.org_id,
    key: ({ prefix }) => prefix,
    scopes: ({ scopes }) => scopes.join(' '),
    ends: (key) => (key.revoked_at ? 'revoked' : (key.expires_at ?? '')),
    'last used': (key) => key.last_used_at ?? 'never used',
    name: ({ name }) => name,
    models: ({ models }) => models?.join(' ') ?? '',
  }),
});

const revoke = queryCommand({
  usage: 'revoke <id>',
  about: 'revoke an API key, which takes effect within a second',
  isAdmin: true,
  examples: ['key_0199f3a2'],
  ask: (client, id) => client.keys.revoke(id),
  show: ({ id }, terminal) => terminal.print(`Revoked ${id}.`),
});

export const keys = group('keys', [create, list, revoke]);
