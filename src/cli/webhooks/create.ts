import type { Command } from 'commander';
import { clientCommand, examples, tell } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { eventsOption, showWebhook } from './show-webhook.ts';

interface Options extends ClientOptions {
  name?: string;
  events?: string[];
}

export function webhooksCreate(cli: Cli): Command {
  return clientCommand('create', 'have an endpoint told of events; its secret is shown this once')
    .argument('<url>')
    .option('--name <name>', 'to recognise it by')
    .option(...eventsOption)
    .addHelpText('after', examples('https://example.com/offpeak --events batch.completed batch.failed'))
    .action(async (url: string, options: Options) => {
      const { name, events } = options;
      const webhook = await connect(cli, options).webhooks.create({ url, name, event_types: events });
      tell(cli, options, webhook, showWebhook);
    });
}
