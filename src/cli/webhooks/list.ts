import type { Command } from 'commander';
import { clientCommand, connect } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { take } from '../shared/pages.ts';

export function webhooksList(cli: Cli): Command {
  return clientCommand('list', 'list the webhooks, newest first').action(async (options: ClientOptions) => {
    const client = connect(cli, options);
    const found = await take(Infinity, 100, (query) => client.webhooks.list(query));
    if (options.json === true) return cli.terminal.json(found);
    const rows = found.map((webhook) => [
      webhook.id,
      webhook.enabled ? 'enabled' : 'disabled',
      webhook.url,
      webhook.event_types.join(' '),
      webhook.name,
      webhook.disabled_reason ?? '',
    ]);
    cli.terminal.table(['id', 'state', 'url', 'events', 'name', 'why'], rows);
  });
}
