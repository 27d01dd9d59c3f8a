import type { Command } from 'commander';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { adminCommand, examples, tellAll } from '../shared/commands.ts';
import { connectAdmin } from '../shared/connect.ts';

interface Options extends ClientOptions {
  org?: string;
}

export function keysList(cli: Cli): Command {
  return adminCommand('list', 'list the API keys')
    .option('--org <id>', 'only those of this org')
    .addHelpText('after', examples('--org org_0199f3a2'))
    .action(async (options: Options) => {
      const { data } = await connectAdmin(cli, options).admin.keys.list(options.org);
      tellAll(cli, options, data, {
        id: ({ id }) => id,
        org: (key) => key.org_id,
        key: ({ prefix }) => prefix,
        scopes: ({ scopes }) => scopes.join(' '),
        ends: (key) => (key.revoked_at ? 'revoked' : (key.expires_at ?? '')),
        'last used': (key) => key.last_used_at ?? 'never used',
        name: ({ name }) => name,
      });
    });
}
