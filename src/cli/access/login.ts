import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { pluralize } from '../../base/words.ts';
import { clientCommand, examples } from '../shared/commands.ts';
import { defaultUrl, keyPattern, makeClient, readSettings } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { CliError } from '../shared/exit-codes.ts';
import { removeProfile, writeProfile } from '../shared/profile.ts';
import type { Terminal } from '../terminal/terminal.ts';

export function login(cli: Cli): Command {
  return clientCommand('login')
    .addHelpText(
      'after',
      '\nPrompts for the key, or reads it from stdin. Flags and the environment take precedence over the saved values.',
    )
    .addHelpText('after', examples('--url https://batch.example.com', '--key-file key.txt'))
    .action(async (options: ClientOptions) => {
      const { url = defaultUrl, key: given } = readSettings(cli, options);
      const key = given ?? (await askForKey(cli.terminal, url));
      if (!keyPattern.test(key))
        throw new CliError('Invalid key: expected one word of printable ASCII characters.');
      const client = makeClient(cli, url, key);
      const { data } = await client.models.list();
      const path = writeProfile(cli.env, { url: client.baseUrl, key });
      if (options.json === true) return cli.terminal.json({ url: client.baseUrl, path });
      cli.terminal.print(
        `Logged in at ${client.baseUrl} (${pluralize(data.length, 'model')}). Saved in ${path}.`,
      );
    });
}

export function logout(cli: Cli): Command {
  return new Command('logout').addHelpText('after', examples('')).action(() => {
    cli.terminal.print(removeProfile(cli.env) ? 'Logged out.' : 'Not logged in.');
  });
}

async function askForKey({ stdin, stderr }: Terminal, url: string): Promise<string> {
  if (stdin.isTTY !== true) return (await text(stdin)).trim();
  stderr.write(`API key for ${url}: `);
  // Hides the typed key.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: stdin, output: nowhere, terminal: true });
  try {
    return (await prompt.question('')).trim();
  } finally {
    prompt.close();
    stderr.write('\n');
  }
}
