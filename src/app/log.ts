import querystring from 'node:querystring';
import { pino } from 'pino';
import type PinoPretty from 'pino-pretty';
import { loadPackage } from '../base/load-package.ts';
import { keyRemover } from '../base/key-shapes.ts';
import type { Log } from '../base/log.ts';
import type { Config } from '../core/config.ts';

/** A line of the log as people read it: time, level, words, and the fields behind them. */
export function forPeople(): (line: string) => string {
  // A service has no terminal, and starts a little quicker without it.
  const { prettyFactory } = loadPackage('pino-pretty') as typeof PinoPretty;
  const show = prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss', singleLine: true });
  return (line) => show(line) ?? line;
}

/**
 * Lines wait for each other for a moment, so that a request does not wait for the disk. Written at the end in any case.
 * Every line passes here on its way out, whoever wrote it, and loses its keys: a client may put one anywhere. On a terminal
 * lines are for people, else one JSON object each.
 */
export function createLog(
  level: string,
  first: readonly string[],
  isTerminal = process.stderr.isTTY,
): { log: Log; hide: (more: string[]) => void; flush: () => void } {
  const destination = pino.destination({
    dest: 2,
    sync: false,
    contentMode: 'buffer',
    minLength: 15_000,
    periodicFlush: 100,
  });
  const secrets = new Set(first);
  const remover = () => keyRemover([...secrets].map((secret) => JSON.stringify(secret).slice(1, -1)));
  let withoutKeys = remover();
  const show = isTerminal ? forPeople() : (line: string) => line;
  // Bytes, which its types do not know of: of text that waits, the destination counts the bytes anew with every line.
  const bytesOf = (line: string) => Buffer.from(show(withoutKeys(line))) as unknown as string;
  const hooks = { streamWrite: bytesOf };
  const log = pino({ level, base: null, hooks }, destination);
  const hide = (more: string[]) => {
    for (const secret of more) secrets.add(secret);
    withoutKeys = remover();
  };
  return { log, hide, flush: () => destination.flushSync() };
}

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
