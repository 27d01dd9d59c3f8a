import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createClient, type Client } from '../../client/client.ts';
import { clientSettings } from '../../config/environment.ts';
import type { Cli, ClientOptions } from './cli.ts';
import { CliError, exitCodes } from './exit-codes.ts';
import { readProfile } from './profile.ts';

/** What a header can carry as a key; an error of the network would show the rest. */
const keyPattern = /^[\x21-\x7e]+$/;

/** Where a server is that nobody named. */
export const defaultUrl = 'http://127.0.0.1:8080';

/** The server that flags, the environment or `login` name, with the key that belongs to it. */
export function connect(cli: Cli, options: ClientOptions): Client {
  const { url, key } = readSettings(cli, options);
  if (key !== undefined) return makeClient(cli, url, key);
  // What login remembers goes together: no key reaches another server than its own.
  const remembered = readProfile(cli.env);
  if (remembered === undefined) return makeClient(cli, url, undefined);
  const { baseUrl } = makeClient(cli, url ?? remembered.url, undefined);
  return makeClient(cli, baseUrl, baseUrl === remembered.url ? remembered.key : undefined);
}

/** The same with the admin key (OFFPEAK_ADMIN_KEY). */
export function connectAdmin(cli: Cli, options: ClientOptions): Client {
  const { url, adminKey } = readSettings(cli, options);
  if (adminKey === undefined)
    throw new CliError('This command needs an admin key.', 'Set OFFPEAK_ADMIN_KEY, or pass --key-file.');
  return makeClient(cli, url, adminKey);
}

/** Whether the environment has an admin key, and no other key is asked for. */
export function hasAdminKey(cli: Cli, options: ClientOptions): boolean {
  const { key, keyFile } = options;
  return key === undefined && keyFile === undefined && readSettings(cli, options).adminKey !== undefined;
}

/** What flags and the environment say. */
export function readSettings({ env, cwd }: Cli, { url, key, keyFile }: ClientOptions) {
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
  if (keyPattern.test(text)) return text;
  throw new CliError(`${path} must hold one key and nothing else.`);
}

export function makeClient(cli: Cli, asked: string | undefined, key: string | undefined): Client {
  const url = asked ?? defaultUrl;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new CliError(
      `'${url}' is not an http:// or https:// URL.`,
      'For example --url http://127.0.0.1:8080',
    );
  const apiKey = key?.trim();
  if (apiKey !== undefined && !keyPattern.test(apiKey))
    throw new CliError(
      'The key must be one key and nothing else: no spaces or line breaks are in it.',
      'Look at OFFPEAK_API_KEY, or at OFFPEAK_ADMIN_KEY for orgs and keys.',
    );
  return createClient({ baseUrl: url, apiKey, fetch: cli.fetch });
}
