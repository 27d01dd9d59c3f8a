import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defaultFile, loadConfig, namedFile, type Config } from '../../config.ts';
import { omitUndefined } from '../../config/context.ts';
import type { Cli } from './cli.ts';

/** Flags that override the configuration of a server. */
export interface ServerFlags {
  host?: string;
  port?: string;
  data?: string;
  config?: string;
  database?: string;
  role?: string;
  logLevel?: string;
}

export function withServerFlags(command: Command): Command {
  return command
    .option('--host <host>', 'address to listen on (OFFPEAK_HOST; default 127.0.0.1)')
    .option('--port <port>', 'port to listen on, 0 for a free one (OFFPEAK_PORT or PORT; default 8080)')
    .option('--data <folder>', 'data folder (OFFPEAK_DATA; default ./offpeak-data)')
    .option('--config <file>', 'configuration file (OFFPEAK_CONFIG; default ./offpeak.yaml if it exists)')
    .option('--database <url>', 'sqlite or postgres://user@host/name (OFFPEAK_DATABASE; default sqlite)')
    .option('--role <role>', 'all, api or worker, with Postgres (OFFPEAK_ROLE; default all)')
    .option(
      '--log-level <level>',
      'trace, debug, info, warn, error or silent (OFFPEAK_LOG_LEVEL; default info)',
    );
}

/** Flags for a reload. They name the configuration file of the start, so that its removal is an error. */
export function reloadFlags({ env, cwd }: Pick<Cli, 'env' | 'cwd'>, flags: ServerFlags): ServerFlags {
  const isNamed = namedFile(flags, env) !== undefined;
  return isNamed || !existsSync(resolve(cwd, defaultFile)) ? flags : { ...flags, config: defaultFile };
}

/**
 * Reads the configuration from flags, environment and file.
 * @param missingModels accepts model files that do not exist
 * @param isReload true for a reload
 */
export function readConfig(
  cli: Pick<Cli, 'env' | 'cwd'>,
  flags: ServerFlags,
  { missingModels = false, isReload = false } = {},
): Config {
  const { host, port, data, config, database, role, logLevel } = flags;
  const set = omitUndefined({ host, port, data, config, database, role, logLevel });
  const exists = missingModels ? { exists: (path: string) => existsSync(path) || /\.gguf$/i.test(path) } : {};
  return loadConfig({ flags: set, env: cli.env, cwd: cli.cwd, isReload, ...exists });
}
