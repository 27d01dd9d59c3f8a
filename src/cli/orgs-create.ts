import type { Command } from 'commander';
import { adminCommand, connectAdmin } from './cli.ts';
import type { Cli, ClientOptions } from './cli.ts';

export function orgsCreate(cli: Cli): Command {
  return adminCommand('create', 'make an org')
    .argument('<name>')
    .action(async (name: string, options: ClientOptions) => {
      const org = await connectAdmin(cli, options).admin.orgs.create({ name });
      if (options.json === true) return cli.terminal.json(org);
      cli.terminal.record([
        ['id', org.id],
        ['name', org.name],
      ]);
    });
}
