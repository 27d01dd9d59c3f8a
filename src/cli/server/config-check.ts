import { Command } from 'commander';
import type { Config, EngineConfig } from '../../config.ts';
import { type BucketConfig, storeOf } from '../../core/config.ts';
import { readModelSource, showSource } from '../../core/model-source.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { runDoctor } from './run-doctor.ts';
import { configOf, withServerFlags } from '../shared/server-flags.ts';
import type { ServerFlags } from '../shared/server-flags.ts';

export function configCheck(cli: Cli): Command {
  const command = new Command('check').description('check the configuration without starting anything');
  return withServerFlags(command)
    .option('--json', 'print the complete configuration as JSON, without secrets')
    .option('--probe', 'also ask every configured server whether it is there and has its model')
    .addHelpText('after', examples('', '--config offpeak.yaml --probe'))
    .action(async (flags: ServerFlags & { json?: boolean; probe?: boolean }) => {
      const config = configOf(cli, flags);
      if (flags.probe === true)
        return runDoctor(cli, config, { generates: false, json: flags.json === true, faultsOnly: true });
      if (flags.json === true) return cli.terminal.json(withoutSecrets(config));
      cli.terminal.print(cli.terminal.paint('green', 'The configuration is good.'));
      cli.terminal.record([
        ['listens on', `${config.server.host}:${config.server.port}`],
        ['data', config.data],
        ['database', withoutPassword(config.database)],
        ['files', storeOf(config)],
        ...config.models.map((model): [string, string] => [
          'model',
          `${model.id}: ${describe(model.engine)}`,
        ]),
      ]);
    });
}

function describe(engine: EngineConfig): string {
  if (engine.kind === 'llama') return `llama.cpp, ${withoutQuery(engine.path)}`;
  if (engine.kind === 'openai') {
    const addresses = engine.replicas.map(({ url }) => withoutPassword(url));
    return `${engine.flavor ?? 'any'} server at ${addresses.join(', ')}`;
  }
  return 'scripted answers';
}

const hidden = '(set)';

function withoutSecrets(config: Config): Config {
  const { apiKey, adminKey, files, ...rest } = config;
  return {
    ...rest,
    database: withoutPassword(config.database),
    files: { ...files, ...(files.bucket && { bucket: withoutKeys(files.bucket) }) },
    hub: { ...config.hub, token: config.hub.token === null ? null : hidden },
    models: config.models.map((model) => ({ ...model, engine: withoutKey(model.engine) })),
    ...(apiKey !== undefined && { apiKey: hidden }),
    ...(adminKey !== undefined && { adminKey: hidden }),
  };
}

function withoutKeys(bucket: BucketConfig): BucketConfig {
  return { ...bucket, secretKey: hidden, sessionToken: bucket.sessionToken && hidden };
}

function withoutKey(engine: EngineConfig): EngineConfig {
  if (engine.kind === 'llama') return { ...engine, path: withoutQuery(engine.path) };
  if (engine.kind !== 'openai') return engine;
  const replicas = engine.replicas.map((replica) => ({
    ...replica,
    url: withoutPassword(replica.url),
    apiKey: replica.apiKey === null ? null : hidden,
  }));
  const names = Object.keys(engine.headers ?? {});
  const headers = engine.headers && Object.fromEntries(names.map((name) => [name, hidden]));
  return { ...engine, replicas, ...(headers && { headers }) };
}

/** The query of a model's URL may be the right to fetch it. */
function withoutQuery(path: string): string {
  const source = readModelSource(path);
  return source.kind === 'wrong' ? path : showSource(source);
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.password === '') return url;
  parsed.password = 'xxx';
  return parsed.href;
}
