import type { Command } from 'commander';
import { clientCommand, examples, tellAll, wholeNumber } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { isoTime } from '../terminal/iso-time.ts';
import { take } from '../shared/pages.ts';

interface Options extends ClientOptions {
  limit: number;
  purpose?: string;
}

export function filesList(cli: Cli): Command {
  return clientCommand('list', 'list files, newest first')
    .option('-n, --limit <n>', 'how many at most', wholeNumber('--limit', 1, 1_000_000), 100)
    .option('--purpose <purpose>', 'batch, batch_output, or another that the server takes')
    .addHelpText('after', examples('--purpose batch_output'))
    .action(async (options: Options) => {
      const client = connect(cli, options);
      const { purpose } = options;
      const found = await take(options.limit, 1000, (query) =>
        client.files.list(purpose === undefined ? query : { ...query, purpose }),
      );
      tellAll(cli, options, found, {
        id: ({ id }) => id,
        purpose: (file) => file.purpose,
        bytes: ({ bytes }) => String(bytes),
        created: (file) => isoTime(file.created_at),
        filename: ({ filename }) => filename,
      });
    });
}
