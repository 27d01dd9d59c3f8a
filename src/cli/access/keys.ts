import { group, one } from '../shared/commands.ts';
import { keysCreate } from './keys-create.ts';
import { keysList } from './keys-list.ts';

const revoke = one({
  name: 'revoke',
  about: 'end an API key, within a second',
  isAdmin: true,
  example: 'key_0199f3a2',
  ask: ({ admin }, id) => admin.keys.revoke(id),
  show: ({ id }, terminal) => terminal.print(`Revoked ${id}.`),
});

export const keys = group('keys', [keysCreate, keysList, revoke]);
