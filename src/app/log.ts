import { pino } from 'pino';
import type PinoPretty from 'pino-pretty';
import type { Clock } from '../base/clock.ts';
import { fieldsOf } from '../base/fields.ts';
import { createKeyScrubber } from '../base/key-shapes.ts';
import { loadPackage } from '../base/load-package.ts';
import type { Log } from '../base/log.ts';
import type { BucketKeys } from '../core/bucket-keys.ts';
import type { Config, RayRunnerConfig } from '../core/config.ts';
import { parseDatabaseUrl } from '../core/database-url.ts';
import { createLogWriter } from './log-writer.ts';

/** Returns a formatter for terminals: time, level, message and fields of a log line. */
export function prettyLine(): (line: string) => string {
  // Loaded on terminals only: a service starts faster without it.
  const { prettyFactory } = loadPackage('pino-pretty') as typeof PinoPretty;
  const show = prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss', singleLine: true });
  return (line) => show(line) ?? line;
}

/**
 * Creates the log, on stderr: readable lines on a terminal, one JSON object per line otherwise. Secrets are removed from every line,
 * because a client may send a key anywhere. Waiting lines are written when the process exits.
 * @returns `hide` adds secrets to remove
 */
export function createLog(
  level: string,
  first: readonly string[],
  clock: Clock,
  isTerminal = process.stderr.isTTY,
): { log: Log; hide: (more: string[]) => void; flush: () => void } {
  const secrets = new Set(first);
  const remover = () => createKeyScrubber([...secrets].map((secret) => JSON.stringify(secret).slice(1, -1)));
  let withoutKeys = remover();
  const show = isTerminal ? eachLine(prettyLine()) : (lines: string) => lines;
  const writer = createLogWriter({
    fd: 2,
    clock,
    finish: (lines) => show(withoutKeys(lines)),
    onLost: (lines) => log.warn({ lines }, 'log lines were lost because they could not be written'),
  });
  process.once('exit', () => writer.flush());
  const log = pino({ ...lineForm, level, base: null }, writer);
  const hide = (more: string[]) => {
    for (const secret of more) secrets.add(secret);
    withoutKeys = remover();
  };
  return { log, hide, flush: () => writer.flush() };
}

/** Level names and ISO 8601 times in UTC, which log stores parse by default. */
export const lineForm = {
  formatters: { level: (level: string) => ({ level }) },
  timestamp: pino.stdTimeFunctions.isoTime,
};

const eachLine = (show: (line: string) => string) => (lines: string) =>
  lines.replaceAll(/[^\n]*\n|[^\n]+$/g, (line) => show(line));

function bucketSecrets(keys: BucketKeys): (string | undefined)[] {
  if (keys.kind === 'static') return [keys.secretKey, keys.sessionToken];
  return keys.kind === 'container' ? [keys.token] : [];
}

/** Environment variables of Ray jobs, such as keys of a bucket. */
function variablesOf({ runtimeEnv }: RayRunnerConfig): string[] {
  return Object.values(fieldsOf(runtimeEnv['env_vars'])).filter((value) => typeof value === 'string');
}

/** Returns all secrets in the configuration. */
export function secretsOf(config: Config): string[] {
  const { apiKey, adminKey, secretsKey, acceptedSecretsKeys, hub, database, files, models, tracing } = config;
  const engines = models.flatMap(({ engine }) =>
    engine.kind === 'openai'
      ? [
          engine.cacheSalt,
          ...engine.replicas.map((replica) => replica.apiKey),
          ...Object.values(engine.headers ?? {}),
        ]
      : engine.kind === 'job' && engine.runner.kind === 'ray'
        ? [...Object.values(engine.runner.headers), ...variablesOf(engine.runner)]
        : [],
  );
  const passwords = database === 'sqlite' ? [] : parseDatabaseUrl(database).secrets;
  const bucket = files.bucket ?? files.fallback?.bucket;
  const keys = bucket ? bucketSecrets(bucket.keys) : [];
  // Removing secrets of fewer than 8 characters would make the log unreadable.
  const all = [apiKey, adminKey, secretsKey, hub.token, ...keys, ...passwords];
  return [...all, ...acceptedSecretsKeys, ...Object.values(tracing?.headers ?? {}), ...engines].flatMap(
    (secret) => (secret && secret.length >= 8 ? secret : []),
  );
}
