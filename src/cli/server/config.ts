import { Command } from 'commander';
import type { EngineConfig } from '../../config.ts';
import { blobStoreName, type Config } from '../../core/config.ts';
import { readModelSource, formatSource } from '../../core/model-source.ts';
import type { Cli } from '../shared/cli.ts';
import { examples, group } from '../shared/commands.ts';
import { runDoctor } from './doctor.ts';
import { readConfig, withServerFlags, type ServerFlags } from '../shared/server-flags.ts';

export const config = group('config', [check]);

function check(cli: Cli): Command {
  const command = new Command('check').description('check the configuration without starting the server');
  return withServerFlags(command)
    .option('--json', 'print the complete configuration as JSON, without secrets')
    .option('--probe', 'also check that every configured server responds and has its model')
    .addHelpText('after', examples('', '--config offpeak.yaml --probe'))
    .action(async (flags: ServerFlags & { json?: boolean; probe?: boolean }) => {
      const loaded = readConfig(cli, flags);
      if (flags.probe === true)
        return runDoctor(cli, loaded, { generates: false, json: flags.json === true, faultsOnly: true });
      if (flags.json === true) return cli.terminal.json(withoutSecrets(loaded));
      cli.terminal.print(cli.terminal.paint('green', 'The configuration is valid.'));
      cli.terminal.record([
        ['listens on', `${loaded.server.host}:${loaded.server.port}`],
        ['data', loaded.data],
        ['database', withoutPassword(loaded.database)],
        ['files', fileStores(loaded)],
        ...loaded.models.map(({ id, engine }): [string, string] => ['model', `${id}: ${describe(engine)}`]),
      ]);
    });
}

/** Store of new files, and the one that the others are moved from. */
function fileStores(loaded: Config): string {
  const { fallback } = loaded.files;
  const from = fallback && `, moved from ${blobStoreName({ ...loaded, files: fallback })}`;
  return `${blobStoreName(loaded)}${from ?? ''}`;
}

function describe(engine: EngineConfig): string {
  if (engine.kind === 'llama') return `llama.cpp, ${withoutQuery(engine.path)}`;
  if (engine.kind === 'scripted') return 'scripted answers';
  if (engine.kind === 'job')
    return `jobs of ${engine.runner.kind === 'ray' ? engine.runner.address : engine.runner.command[0]}`;
  const addresses = engine.replicas.map(({ url }) => addressOnly(url));
  return `${engine.flavor ?? 'any'} server at ${addresses.join(', ')}`;
}

const hide = (secret: string | null) => secret && '(set)';

/** Replacements of secrets, by field name. */
const shownAs: Record<string, (value: never) => unknown> = {
  apiKey: hide,
  adminKey: hide,
  secretsKey: hide,
  cacheSalt: hide,
  acceptedSecretsKeys: (keys: string[]) => keys.map(hide),
  token: hide,
  secretKey: hide,
  sessionToken: hide,
  headers: (headers: object) => Object.fromEntries(Object.keys(headers).map((name) => [name, hide(name)])),
  database: withoutPassword,
  url: addressOnly,
  path: withoutQuery,
  env_vars: (variables: object) =>
    Object.fromEntries(Object.keys(variables).map((name) => [name, hide(name)])),
  // Its keys are arbitrary names.
  ownTraits: (traits) => traits,
};

function withoutSecrets(value: unknown, name = ''): unknown {
  if (Object.hasOwn(shownAs, name)) return shownAs[name]!(value as never);
  if (Array.isArray(value)) return value.map((each) => withoutSecrets(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutSecrets(each, key)]));
}

/** Model path without its query, which may contain an access token. */
function withoutQuery(path: string): string {
  const source = readModelSource(path);
  return source.kind === 'wrong' ? path : formatSource(source);
}

/** URL without a password and query values, which may be keys, except `api-version`. */
function addressOnly(url: string): string {
  return withoutPassword(url).replaceAll(/([?&](?!api-version=)[^=&#]*=)[^&#]*/g, '$1xxx');
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.password === '') return url;
  parsed.password = 'xxx';
  return parsed.href;
}
