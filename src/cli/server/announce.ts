import { cleanLine } from '../terminal/clean-text.ts';
import { type Role, servesRequests } from '../../core/role.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Started server, as `serve` prints it. */
export interface ReadyServer {
  url: string;
  /** Address of the console, unless it is turned off. */
  consoleUrl?: string | undefined;
  models: readonly { id: string; aliases: string[]; serves: readonly string[] }[];
  dataFolder: string;
  /** Bucket for files, if not in the data folder. */
  bucket?: string | undefined;
  firstKeys: { key: string | null; adminKey: string | null } | null;
}

/**
 * Prints address, models, new keys and commands to try.
 * @param given keys from the environment, and the role: a worker serves no requests
 */
export function announce(
  ready: ReadyServer,
  given: { apiKey?: string | undefined; adminKey?: string | undefined; role?: Role | undefined },
  terminal: Terminal,
): void {
  const { url, firstKeys: keys } = ready;
  const isOpen = servesRequests(given.role ?? 'all');
  const { apiKey, adminKey } = isOpen ? given : {};
  terminal.print(`${terminal.paint('bold', 'Offpeak is ready at')} ${terminal.paint('cyan', url)}\n`);
  const [first, ...others] = ready.models.map(
    ({ id, aliases, serves }) => `${[id, ...aliases].join(', ')} (${serves.join(', ')})`,
  );
  terminal.record([
    ['console', ready.consoleUrl],
    ['models', first],
    ...others.map((model): [string, string] => ['', model]),
    ['data', ready.dataFolder],
    ['files', ready.bucket],
    ['role', given.role === 'all' ? undefined : given.role],
    ['API key', keys?.key ?? (apiKey && 'the value of OFFPEAK_API_KEY')],
    ['admin key', keys?.adminKey ?? (adminKey && 'the value of OFFPEAK_ADMIN_KEY')],
  ]);
  if (!isOpen) return terminal.print('Press Ctrl-C to stop.');
  if (keys !== null) terminal.print(`\n${shownOnce(keys)}`);
  terminal.print(`\nTry it:
  export OFFPEAK_URL=${url} OFFPEAK_API_KEY=${keys?.key ?? '<your key>'}`);
  const chatting = ready.models.filter(({ serves }) => serves.includes('chat'));
  const choice = chatting.some(({ id, aliases }) => [id, ...aliases].includes('default'))
    ? ''
    : ` --model ${chatting[0]?.id}`;
  if (chatting.length > 0)
    terminal.print(`  ${terminal.self.command} chat "What is the capital of France?"${choice}
  ${terminal.self.command} batch run ${terminal.self.example} -o results.jsonl${choice}`);
  terminal.print('Press Ctrl-C to stop.');
}

function shownOnce({ key, adminKey }: NonNullable<ReadyServer['firstKeys']>): string {
  if (key !== null && adminKey !== null) return 'These keys are new and shown only once. Store them now.';
  return `The ${key === null ? 'admin' : 'API'} key is new and shown only once. Store it now.`;
}

/** Prints a warning for each unavailable upstream server. */
export function warnUnreachable(
  away: readonly { model: string; server: string; servers: number; message: string }[],
  terminal: Terminal,
): void {
  for (const { model, server, servers, message } of away) {
    const which = servers === 1 ? server : `${server}, one of ${servers} servers`;
    const line = `${model}: ${message.replace(/\.$/, '')} (${which}). Retrying automatically. For details: ${terminal.self.command} doctor.`;
    terminal.note(`${terminal.paintNote('yellow', 'Warning:')} ${cleanLine(line)}`);
  }
}

export function announceJson(ready: ReadyServer, terminal: Terminal): void {
  terminal.json({
    url: ready.url,
    models: ready.models.map(({ id, aliases, serves }) => ({ id, aliases, serves })),
    data: ready.dataFolder,
    keys: ready.firstKeys && { key: ready.firstKeys.key, admin_key: ready.firstKeys.adminKey },
    pid: process.pid,
  });
}
