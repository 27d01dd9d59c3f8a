import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { CliError } from '../shared/exit-codes.ts';
import { migrateBlobs } from './migrate-blobs.ts';
import { readConfig, withServerFlags, type ServerFlags } from '../shared/server-flags.ts';

export function migrate(cli: Cli): Command {
  return withServerFlags(new Command('migrate').enablePositionalOptions())
    .addCommand(migrateBlobs(cli))
    .option('--json', 'print JSON')
    .addHelpText('after', examples('--database postgres://offpeak@db/offpeak'))
    .action(async (flags: ServerFlags & { json?: boolean }) => {
      const { terminal } = cli;
      const config = readConfig(cli, flags, { missingModels: true });
      if (config.database === 'sqlite')
        throw new CliError(
          'There is nothing to migrate beforehand: a server migrates its embedded database when it starts.',
          'Name a Postgres with --database, OFFPEAK_DATABASE or the configuration.',
        );
      const { migratePostgres } = await import('../../app/migrate.ts');
      const done = await migratePostgres(config);
      if (flags.json === true) return terminal.json(done);
      terminal.print(`The tables are migrated up to version ${done.version} (${done.name}).`);
    });
}
