import type { Command } from 'commander';
import { adminCommand, examples } from '../shared/commands.ts';
import { connectAdmin } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { budgetOption, budgetText, readBudget } from './budget.ts';

interface Options extends ClientOptions {
  budget?: string;
}

export function orgsCreate(cli: Cli): Command {
  return adminCommand('create', 'make an org')
    .argument('<name>')
    .option(...budgetOption)
    .addHelpText('after', examples('search', 'search --budget 50/month'))
    .action(async (name: string, options: Options) => {
      const { orgs } = connectAdmin(cli, options).admin;
      const org = await orgs.create({ name, budget: readBudget(options.budget) });
      if (options.json === true) return cli.terminal.json(org);
      cli.terminal.record([
        ['id', org.id],
        ['name', org.name],
        ...(org.budget ? [['budget', budgetText(org)] as [string, string]] : []),
      ]);
      const others = (await orgs.list()).data.filter((other) => other.name === name && other.id !== org.id);
      if (others.length > 0)
        cli.terminal.note(`There was one of this name already: ${others.map(({ id }) => id).join(', ')}.`);
    });
}
