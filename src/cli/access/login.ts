import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { clientCommand, examples } from '../shared/commands.ts';
import { makeClient, defaultUrl, readSettings } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { CliError } from '../shared/exit-codes.ts';
import { removeProfile, writeProfile } from '../shared/profile.ts';
import type { Terminal } from '../terminal/terminal.ts';

export function login(cli: Cli): Command {
  return clientCommand('login')
    .addHelpText(
      'after',
      '\nAsks for the key, or reads it from stdin. A flag or the environment wins over what is remembered.',
    )
    .addHelpText('after', examples('--url https://batch.example.com', '--key-file key.txt'))
    .action(async (options: ClientOptions) => {
      const { url = defaultUrl, key: given } = readSettings(cli, options);
      const key = given ?? (await askForKey(cli.terminal, url));
      if (!/^[\x21-\x7e]+$/.test(key))
        throw new CliError('That is no key: one word of visible ASCII characters.');
      const client = makeClient(cli, url, key);
      const { data } = await client.models.list();
      const path = writeProfile(cli.env, { url: client.baseUrl, key });
      if (options.json === true) return cli.terminal.json({ url: client.baseUrl, path });
      cli.terminal.print(
        `Logged in at ${client.baseUrl}, which has ${data.length} ${data.length === 1 ? 'model' : 'models'}. ${path} remembers it.`,
      );
    });
}

export function logout(cli: Cli): Command {
  return new Command('logout').addHelpText('after', examples('')).action(() => {
    cli.terminal.print(removeProfile(cli.env) ? 'Logged out.' : 'There was nothing to forget.');
  });
}

async function askForKey({ stdin, stderr }: Terminal, url: string): Promise<string> {
  if (stdin.isTTY !== true) return (await text(stdin)).trim();
  stderr.write(`API key for ${url}: `);
  // What is typed is not shown.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: stdin, output: nowhere, terminal: true });
  try {
    return (await prompt.question('')).trim();
  } finally {
    prompt.close();
    stderr.write('\n');
  }
}
