import querystring from 'node:querystring';
import { pino } from 'pino';
import type PinoPretty from 'pino-pretty';
import type { Clock } from '../base/clock.ts';
import { createKeyScrubber } from '../base/key-shapes.ts';
import { loadPackage } from '../base/load-package.ts';
import type { Log } from '../base/log.ts';
import type { Config } from '../core/config.ts';
import { createLogWriter } from './log-writer.ts';

/** A line of the log as people read it: time, level, words, and the fields behind them. */
export function forPeople(): (line: string) => string {
  // A service has no terminal, and starts a little quicker without it.
  const { prettyFactory } = loadPackage('pino-pretty') as typeof PinoPretty;
  const show = prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss', singleLine: true });
  return (line) => show(line) ?? line;
}

/**
 * The log, on stderr. Every line passes here on its way out, whoever wrote it, and loses its keys: a client may put one
 * anywhere. On a terminal lines are for people, else one JSON object each. What waits is written when the process ends.
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
  const show = isTerminal ? eachLine(forPeople()) : (lines: string) => lines;
  const writer = createLogWriter({
    fd: 2,
    clock,
    finish: (lines) => show(withoutKeys(lines)),
    onLost: (lines) => log.warn({ lines }, 'lines of the log were lost: they could not be written'),
  });
  process.once('exit', () => writer.flush());
  const log = pino({ ...lineForm, level, base: null }, writer);
  const hide = (more: string[]) => {
    for (const secret of more) secrets.add(secret);
    withoutKeys = remover();
  };
  return { log, hide, flush: () => writer.flush() };
}

/** Levels by name and times as ISO 8601 UTC, which log stores read without a rule. */
export const lineForm = {
  formatters: { level: (level: string) => ({ level }) },
  timestamp: pino.stdTimeFunctions.isoTime,
};

const eachLine = (show: (line: string) => string) => (lines: string) =>
  lines
    .split(/(?<=\n)/)
    .map(show)
    .join('');

/** What this server was told that nobody else may learn. */
export function secretsOf({ apiKey, adminKey, hub, database, files, models }: Config): string[] {
  const engines = models.flatMap(({ engine }) =>
    engine.kind === 'openai'
      ? [...engine.replicas.map((replica) => replica.apiKey), ...Object.values(engine.headers ?? {})]
      : [],
  );
  const password = URL.canParse(database) ? new URL(database).password : '';
  const plain = querystring.unescape(password);
  // A shorter one would take more from the log than it keeps from its readers.
  const { secretKey, sessionToken } = files.bucket ?? {};
  return [apiKey, adminKey, hub.token, secretKey, sessionToken, password, plain, ...engines].flatMap(
    (secret) => (secret && secret.length >= 8 ? secret : []),
  );
}
