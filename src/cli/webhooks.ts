import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { webhooksCreate } from './webhooks-create.ts';
import { webhooksDelete } from './webhooks-delete.ts';
import { webhooksDeliveries } from './webhooks-deliveries.ts';
import { webhooksList } from './webhooks-list.ts';
import { webhooksReplay } from './webhooks-replay.ts';
import { webhooksRotate } from './webhooks-rotate.ts';
import { webhooksTest } from './webhooks-test.ts';
import { webhooksUpdate } from './webhooks-update.ts';

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
