import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { webhooksCreate } from './create.ts';
import { webhooksDelete } from './delete.ts';
import { webhooksDeliveries } from './deliveries.ts';
import { webhooksList } from './list.ts';
import { webhooksReplay } from './replay.ts';
import { webhooksRotate } from './rotate.ts';
import { webhooksTest } from './test.ts';
import { webhooksUpdate } from './update.ts';

const commands = [
  webhooksCreate,
  webhooksList,
  webhooksUpdate,
  webhooksDelete,
  webhooksRotate,
  webhooksTest,
  webhooksDeliveries,
  webhooksReplay,
];

export function webhooks(cli: Cli): Command {
  const group = new Command('webhooks').description('endpoints of yours that are told when a batch ends');
  for (const make of commands) group.addCommand(make(cli));
  return group;
}
