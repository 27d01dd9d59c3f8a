import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createClient, type Client } from '../../client/client.ts';
import { clientSettings } from '../../config/environment.ts';
import type { Cli, ClientOptions } from './cli.ts';
import { CliError, exitCodes } from './exit-codes.ts';
import { readProfile } from './profile.ts';

/** Key that a header can carry. Checked here because a network error would print an invalid one. */
export const keyPattern = /^[\x21-\x7e]+$/;

export const needsAdminKey = 'Set OFFPEAK_ADMIN_KEY, or pass --key-file.';

export const defaultUrl = 'http://127.0.0.1:8080';

/** Client of the server from flags, environment or `login`, with the key for that server. */
export function connect(cli: Cli, options: ClientOptions): Client {
  const { url, key } = findServer(cli, options);
  return makeClient(cli, url, key);
}

/** True if there is an admin key, but no API key. */
export function hasOnlyAdminKey(cli: Cli, options: ClientOptions): boolean {
  return hasAdminKey(cli, options) && findServer(cli, options).key === undefined;
}

function findServer(
  cli: Cli,
  options: ClientOptions,
): { url?: string | undefined; key?: string | undefined } {
  const { url, key } = readSettings(cli, options);
  if (key !== undefined) return { url, key };
  // A saved key is sent only to its own server.
  const remembered = readProfile(cli.env);
  if (remembered === undefined) return { url };
  const { baseUrl } = makeClient(cli, url ?? remembered.url);
  return { url: baseUrl, key: baseUrl === remembered.url ? remembered.key : undefined };
}

/** Client with the admin key (OFFPEAK_ADMIN_KEY). */
export function connectAdmin(cli: Cli, options: ClientOptions): Client {
  const { url, adminKey } = readSettings(cli, options);
  if (adminKey === undefined) throw new CliError('This command needs an admin key.', needsAdminKey);
  cli.usesAdminKey = true;
  return makeClient(cli, url, adminKey);
}

/** True if the environment has an admin key and no flag names another key. */
export function hasAdminKey(cli: Cli, options: ClientOptions): boolean {
  const { key, keyFile } = options;
  return key === undefined && keyFile === undefined && readSettings(cli, options).adminKey !== undefined;
}

/** URL and keys from flags and environment. */
export function readSettings({ env, cwd }: Cli, { url, key, keyFile }: ClientOptions) {
  if (key !== undefined && keyFile !== undefined)
    throw new CliError('--key and --key-file cannot be combined.', undefined, exitCodes.usage);
  return clientSettings({ url, key: keyFile === undefined ? key : readKey(keyFile, cwd) }, env);
}

function readKey(path: string, cwd: string): string {
  let text: string;
  try {
    text = readFileSync(resolve(cwd, path), 'utf8').trim();
  } catch {
    throw new CliError(`Cannot read the key file ${path}.`);
  }
  if (keyPattern.test(text)) return text;
  throw new CliError(`${path} must contain one key and nothing else.`);
}

export function makeClient(cli: Cli, url = defaultUrl, key?: string): Client {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new CliError(
      `'${url}' is not an http:// or https:// URL.`,
      'Pass a URL such as --url http://127.0.0.1:8080.',
    );
  const apiKey = key?.trim();
  if (apiKey !== undefined && !keyPattern.test(apiKey))
    throw new CliError(
      'Invalid key: expected one word of printable ASCII characters.',
      `Check ${cli.usesAdminKey === true ? 'OFFPEAK_ADMIN_KEY' : 'OFFPEAK_API_KEY'}, or the key that you pass.`,
    );
  return createClient({ baseUrl: url, apiKey, fetch: cli.fetch });
}
