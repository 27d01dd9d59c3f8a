import type { Command } from 'commander';
import { adminCommand, connectAdmin } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';

interface Options extends ClientOptions {
  org?: string;
}

export function keysList(cli: Cli): Command {
  return adminCommand('list', 'list the API keys')
    .option('--org <id>', 'only those of this org')
    .action(async (options: Options) => {
      const { data } = await connectAdmin(cli, options).admin.keys.list(options.org);
      if (options.json === true) return cli.terminal.json(data);
      const rows = data.map((key) => [
        key.id,
        key.org_id,
        key.prefix,
        key.scopes.join(' '),
        key.revoked_at ? 'revoked' : (key.expires_at ?? ''),
        key.last_used_at ?? 'never used',
        key.name,
      ]);
      cli.terminal.table(['id', 'org', 'key', 'scopes', 'ends', 'last used', 'name'], rows);
    });
}
