import type { Command } from 'commander';
import { clientCommand, examples, tell } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { eventsOption, showWebhook } from './show-webhook.ts';

interface Options extends ClientOptions {
  to?: string;
  name?: string;
  events?: string[];
  enable?: boolean;
  disable?: boolean;
}

export function webhooksUpdate(cli: Cli): Command {
  return clientCommand('update', 'change a webhook, or disable and enable it')
    .argument('<id>')
    .option('--to <url>', 'where it leads')
    .option('--name <name>', 'to recognise it by')
    .option(...eventsOption)
    .option('--enable', 'tell it of events again')
    .option('--disable', 'tell it of nothing')
    .addHelpText('after', examples('wh_0199f3a2 --to https://example.com/other --enable'))
    .action(async (id: string, options: Options) => {
      const { to, name, events, enable, disable } = options;
      if (enable === true && disable === true)
        throw new CliError('--enable and --disable cannot be given together.', undefined, exitCodes.usage);
      const enabled = enable === true ? true : disable === true ? false : undefined;
      const changes = { url: to, name, event_types: events, enabled };
      const webhook = await connect(cli, options).webhooks.update(id, changes);
      tell(cli, options, webhook, showWebhook);
    });
}
