import type { Command } from 'commander';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { clientCommand, examples, tellAll } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import { take } from '../shared/pages.ts';

export function webhooksList(cli: Cli): Command {
  return clientCommand('list', 'list the webhooks, newest first')
    .addHelpText('after', examples(''))
    .action(async (options: ClientOptions) => {
      const client = connect(cli, options);
      const found = await take(Infinity, 100, (query) => client.webhooks.list(query));
      tellAll(cli, options, found, {
        id: ({ id }) => id,
        state: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
        url: ({ url }) => url,
        events: ({ event_types: types }) => types.join(' '),
        name: ({ name }) => name,
        why: (webhook) => webhook.disabled_reason ?? '',
      });
    });
}
