import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { createClient } from '../../client/client.ts';
import type { Client } from '../../client/client.ts';
import type { Fetch } from '../../client/transport.ts';
import { clientSettings } from '../../config.ts';
import { CliError, exitCodes } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import { readProfile } from './profile.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Where a server is that nobody named. */
export const localServer = 'http://127.0.0.1:8080';

/** What every command works with. */
export interface Cli {
  terminal: Terminal;
  fetch: Fetch;
  clock: Clock;
  random: Random;
  /** Calls `handle` at every Ctrl-C instead of ending the process, until the returned function is called. */
  onInterrupt(handle: () => void): () => void;
  env: Record<string, string | undefined>;
  cwd: string;
  /** How the command ended, when it ended without an error. */
  exitCode: ExitCode;
}

/** The options of every command that asks a server. */
export interface ClientOptions {
  url?: string;
  key?: string;
  keyFile?: string;
  json?: boolean;
}

/** A command with the options that all commands which ask a server share. */
export function clientCommand(name: string, description: string): Command {
  return askingCommand(name, description, 'API key', 'OFFPEAK_API_KEY');
}

/** The same for a command that only an admin key may run. */
export function adminCommand(name: string, description: string): Command {
  return askingCommand(name, description, 'admin key', 'OFFPEAK_ADMIN_KEY');
}

function askingCommand(name: string, description: string, key: string, variable: string): Command {
  return new Command(name)
    .description(description)
    .option(
      '--url <url>',
      'the server (OFFPEAK_URL; default what login remembers, else http://127.0.0.1:8080)',
    )
    .option('--key-file <file>', `a file that holds the ${key} (default: ${variable})`)
    .option(
      '--key <key>',
      `the ${key} itself, which everybody on this machine can read in the list of processes`,
    )
    .option('--json', 'print JSON');
}

export function connect(cli: Cli, options: ClientOptions): Client {
  const { url, key } = settingsOf(cli, options);
  if (key !== undefined) return clientOf(cli, url, key);
  // What login remembers goes together: no key reaches another server than its own.
  const remembered = readProfile(cli.env);
  if (remembered === undefined) return clientOf(cli, url, undefined);
  const { baseUrl } = clientOf(cli, url ?? remembered.url, undefined);
  return clientOf(cli, baseUrl, baseUrl === remembered.url ? remembered.key : undefined);
}

/** The same with the admin key (OFFPEAK_ADMIN_KEY). */
export function connectAdmin(cli: Cli, options: ClientOptions): Client {
  const { url, adminKey } = settingsOf(cli, options);
  if (adminKey === undefined)
    throw new CliError('This command needs an admin key.', 'Set OFFPEAK_ADMIN_KEY, or pass --key-file.');
  return clientOf(cli, url, adminKey);
}

/** Whether the environment has an admin key, and no other key is asked for. */
export function hasAdminKey(cli: Cli, options: ClientOptions): boolean {
  const { key, keyFile } = options;
  return key === undefined && keyFile === undefined && settingsOf(cli, options).adminKey !== undefined;
}

/** What flags and the environment say. */
export function settingsOf({ env, cwd }: Cli, { url, key, keyFile }: ClientOptions) {
  if (key !== undefined && keyFile !== undefined)
    throw new CliError('--key and --key-file cannot be given together.', undefined, exitCodes.usage);
  return clientSettings({ url, key: keyFile === undefined ? key : readKey(keyFile, cwd) }, env);
}

function readKey(path: string, cwd: string): string {
  let text: string;
  try {
    text = readFileSync(resolve(cwd, path), 'utf8').trim();
  } catch {
    throw new CliError(`The key file ${path} cannot be read.`);
  }
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new CliError(`${path} must hold one key and nothing else.`);
}

export function clientOf(cli: Cli, asked: string | undefined, key: string | undefined): Client {
  const url = asked ?? localServer;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new CliError(
      `'${url}' is not an http:// or https:// URL.`,
      'For example --url http://127.0.0.1:8080',
    );
  return createClient({ baseUrl: url, apiKey: key, fetch: cli.fetch });
}

/** A whole number of an option. */
export function wholeNumber(option: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new CliError(
      `${option} must be a whole number from ${min} to ${max}, not '${text}'.`,
      undefined,
      exitCodes.usage,
    );
  };
}
