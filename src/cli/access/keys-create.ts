import type { Command } from 'commander';
import { adminCommand, examples } from '../shared/commands.ts';
import { connectAdmin } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';

interface Options extends ClientOptions {
  org: string;
  name?: string;
  scopes?: string[];
  models?: string[];
  expires?: string;
}

export function keysCreate(cli: Cli): Command {
  return adminCommand('create', 'make an API key, shown this once')
    .requiredOption('--org <id>', 'the org it belongs to')
    .option('--name <name>', 'to recognise it by')
    .option('--scopes <scope...>', 'inference, batches, files, usage, admin (default: all but admin)')
    .option('--models <id...>', 'the models it may use (default: all)')
    .option('--expires <time>', 'when it ends, such as 2027-01-31T00:00:00Z')
    .addHelpText(
      'after',
      examples(
        '--org org_0199f3a2 --name ci --scopes batches files',
        '--org org_0199f3a2 --models qwen3-32b --expires 2027-01-31T00:00:00Z',
      ),
    )
    .action(async (options: Options) => {
      const key = await connectAdmin(cli, options).admin.keys.create({
        org_id: options.org,
        name: options.name,
        scopes: options.scopes,
        models: options.models,
        expires_at: options.expires,
      });
      if (options.json === true) return cli.terminal.json(key);
      cli.terminal.record([
        ['id', key.id],
        ['org', key.org_id],
        ['name', key.name],
        ['scopes', key.scopes.join(', ')],
        ['key', key.key],
      ]);
      cli.terminal.note('Keep the key: it is not stored and cannot be shown again.');
    });
}
