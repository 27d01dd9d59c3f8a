import type { Command } from 'commander';
import { adminCommand, connectAdmin } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';

export function keysRevoke(cli: Cli): Command {
  return adminCommand('revoke', 'end an API key, within a second')
    .argument('<id>')
    .action(async (id: string, options: ClientOptions) => {
      const key = await connectAdmin(cli, options).admin.keys.revoke(id);
      if (options.json === true) return cli.terminal.json(key);
      cli.terminal.print(`Revoked ${key.id}.`);
    });
}
