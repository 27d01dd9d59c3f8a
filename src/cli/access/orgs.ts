import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { orgsCreate } from './orgs-create.ts';
import { orgsList } from './orgs-list.ts';

export function orgs(cli: Cli): Command {
  const group = new Command('orgs').description('the orgs of a server (with an admin key)');
  return group.addCommand(orgsCreate(cli)).addCommand(orgsList(cli));
}
