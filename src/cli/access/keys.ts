import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { keysCreate } from './keys-create.ts';
import { keysList } from './keys-list.ts';
import { keysRevoke } from './keys-revoke.ts';

export function keys(cli: Cli): Command {
  const group = new Command('keys').description('the API keys of a server (with an admin key)');
  for (const make of [keysCreate, keysList, keysRevoke]) group.addCommand(make(cli));
  return group;
}
