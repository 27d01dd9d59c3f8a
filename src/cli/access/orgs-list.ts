import type { Command } from 'commander';
import { adminCommand, connectAdmin } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';

export function orgsList(cli: Cli): Command {
  return adminCommand('list', 'list the orgs').action(async (options: ClientOptions) => {
    const { data } = await connectAdmin(cli, options).admin.orgs.list();
    if (options.json === true) return cli.terminal.json(data);
    cli.terminal.table(
      ['id', 'name', 'created'],
      data.map((org) => [org.id, org.name, org.created_at]),
    );
  });
}
