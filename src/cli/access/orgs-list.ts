import type { Command } from 'commander';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { adminCommand, examples, tellAll } from '../shared/commands.ts';
import { connectAdmin } from '../shared/connect.ts';
import { budgetText } from './budget.ts';

export function orgsList(cli: Cli): Command {
  return adminCommand('list', 'list the orgs')
    .addHelpText('after', examples(''))
    .action(async (options: ClientOptions) => {
      const { data } = await connectAdmin(cli, options).admin.orgs.list();
      tellAll(cli, options, data, {
        id: ({ id }) => id,
        name: ({ name }) => name,
        budget: budgetText,
        created: (org) => org.created_at,
      });
    });
}
