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
  name: 'create',
  about: 'make an API key, shown this once',
  isAdmin: true,
  options: [
    new Option('--org <id>', 'the org it belongs to').makeOptionMandatory(),
    new Option('--name <name>', 'to recognise it by'),
    new Option('--scopes <scope...>', 'inference, batches, files, usage, admin (default: all but admin)'),
    new Option('--models <id...>', 'the models it may use (default: all)'),
    new Option('--expires <time>', 'when it ends, such as 2027-01-31T00:00:00Z'),
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
    terminal.note('Keep the key: it is not stored and cannot be shown again.');
  },
});

const list = queryCommand({
  name: 'list',
  about: 'list the API keys',
  isAdmin: true,
  options: [new Option('--org <id>', 'only those of this org')],
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
  name: 'revoke',
  about: 'end an API key, within a second',
  isAdmin: true,
  argument: '<id>',
  examples: ['key_0199f3a2'],
  ask: (client, id) => client.keys.revoke(id),
  show: ({ id }, terminal) => terminal.print(`Revoked ${id}.`),
});

export const keys = group('keys', [create, list, revoke]);
