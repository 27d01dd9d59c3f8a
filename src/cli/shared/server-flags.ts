import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defaultFile, loadConfig, namedFile, type Config } from '../../config.ts';
import type { Cli } from './cli.ts';

/** The flags that change the configuration of a server. */
export interface ServerFlags {
  host?: string;
  port?: string;
  data?: string;
  config?: string;
  database?: string;
  logLevel?: string;
}

export function withServerFlags(command: Command): Command {
  return command
    .option('--host <host>', 'where to listen (OFFPEAK_HOST; default 127.0.0.1)')
    .option('--port <port>', 'the port, 0 for a free one (OFFPEAK_PORT or PORT; default 8080)')
    .option('--data <folder>', 'where data lives (OFFPEAK_DATA; default ./offpeak-data)')
    .option('--config <file>', 'the configuration (OFFPEAK_CONFIG; default ./offpeak.yaml if it is there)')
    .option('--database <url>', 'sqlite or postgres://user@host/name (OFFPEAK_DATABASE; default sqlite)')
    .option(
      '--log-level <level>',
      'trace, debug, info, warn, error or silent (OFFPEAK_LOG_LEVEL; default info)',
    );
}

/** The flags as they are read again while the server runs: a file that was there at the start may not be missing then. */
export function reloadFlags({ env, cwd }: Pick<Cli, 'env' | 'cwd'>, flags: ServerFlags): ServerFlags {
  const isNamed = namedFile(flags, env) !== undefined;
  return isNamed || !existsSync(resolve(cwd, defaultFile)) ? flags : { ...flags, config: defaultFile };
}

/**
 * @param missingModels takes a configuration although model files that it names are not there
 * @param isReload while a server runs by an earlier one
 */
export function readConfig(
  cli: Pick<Cli, 'env' | 'cwd'>,
  flags: ServerFlags,
  { missingModels = false, isReload = false } = {},
): Config {
  const { host, port, data, config, database, logLevel } = flags;
  const given = { host, port, data, config, database, logLevel };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const exists = missingModels ? { exists: (path: string) => existsSync(path) || /\.gguf$/i.test(path) } : {};
  return loadConfig({ flags: set, env: cli.env, cwd: cli.cwd, isReload, ...exists });
}
