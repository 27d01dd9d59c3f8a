import type { Command } from 'commander';
import { adminCommand, examples, tell } from '../shared/commands.ts';
import { connectAdmin } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { budgetOption, budgetText, readBudget } from './budget.ts';

interface Options extends ClientOptions {
  name?: string;
  budget?: string;
}

export function orgsUpdate(cli: Cli): Command {
  return adminCommand('update', 'change the name or the budget of an org')
    .argument('<id>')
    .option('--name <name>', 'to recognise it by')
    .option(...budgetOption)
    .addHelpText('after', examples('org_0199f3a2 --budget 50/month', 'org_0199f3a2 --budget none'))
    .action(async (id: string, options: Options) => {
      const changes = { name: options.name, budget: readBudget(options.budget) };
      const org = await connectAdmin(cli, options).admin.orgs.update(id, changes);
      tell(cli, options, org, (_, terminal) =>
        terminal.record([
          ['id', org.id],
          ['name', org.name],
          ['budget', budgetText(org) || 'none'],
        ]),
      );
    });
}
