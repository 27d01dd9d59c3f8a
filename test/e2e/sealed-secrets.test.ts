import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../cli/support/run-cli.ts';
import { adminKey, install, processKey, scriptedYaml } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';

let installation: Installation;
beforeAll(() => {
  installation = install(scriptedYaml());
});
afterAll(() => installation?.remove());

const keyFile = (name: string, fill: string) => {
  const key = Array.from({ length: 12 }, (_, n) => `${fill}${n}`).join('-');
  writeFileSync(join(installation.folder, name), `${key}\n`);
  return key;
};

async function createWebhook({ api }: ServerProcess): Promise<string> {
  const made = await api.post<{ signing_secret: string }>('/v1/webhooks', { url: 'https://93.184.216.34/' });
  return made.signing_secret.slice('whsec_'.length);
}

function secretsCli(server: ServerProcess, ...argv: string[]) {
  return runCli(['secrets', ...argv, '--json'], {
    fetch,
    env: { OFFPEAK_URL: server.url, OFFPEAK_ADMIN_KEY: adminKey },
  });
}

/** Names of files under a folder that contain any of the texts. */
function holding(folder: string, texts: string[]): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => texts.some((text) => readFileSync(path).includes(text)));
}

it('C20: webhook secrets leave the disk when they are sealed, and keys are exchanged one after the other', async () => {
  const { data, folder } = installation;
  let server = await installation.start();
  const secrets = [await createWebhook(server)];
  expect(holding(data, secrets)).not.toEqual([]);
  expect((await secretsCli(server, 'rotate')).err).toContain('no_secrets_key');
  await server.end('SIGTERM');

  const keys = [keyFile('first.key', 'first'), keyFile('second.key', 'second')];
  installation.configure(scriptedYaml({ more: 'secrets_key: "${file:first.key}"\n' }));
  server = await installation.start();
  expect(server.stderr()).toContain('not sealed with the current key: run offpeak secrets rotate');
  secrets.push(await createWebhook(server));
  const rotated = await secretsCli(server, 'rotate');
  const [first, ...others] = JSON.parse(rotated.out) as { id: string; state: string; secrets: number }[];
  expect([first!.state, first!.secrets, others]).toEqual(['current', 2, []]);
  // While the server runs: not even in the log of the database.
  expect(holding(data, [...secrets, ...keys])).toEqual([]);
  await server.end('SIGTERM');

  const both = 'secrets_key: "${file:second.key}"\naccepted_secrets_keys: ["${file:first.key}"]\n';
  installation.configure(scriptedYaml({ more: both }));
  server = await installation.start();
  const states = async () =>
    (JSON.parse((await secretsCli(server, 'list')).out) as { state: string; secrets: number }[]).map(
      ({ state, secrets: n }) => `${n} ${state}`,
    );
  expect(await states()).toEqual(['0 current', '2 accepted']);
  await secretsCli(server, 'rotate');
  await server.end('SIGTERM');

  installation.configure(scriptedYaml());
  server = await installation.start({ env: { OFFPEAK_SECRETS_KEY: keys[1]! } });
  expect(await states()).toEqual(['2 current']);
  const backup = join(folder, 'backup');
  const copied = await runCli(['backup', backup, '--data', data, '--config', join(folder, 'offpeak.yaml')], {
    env: { OFFPEAK_API_KEY: processKey },
  });
  expect(copied.code, copied.err).toBe(0);
  for (const place of [data, backup]) expect(holding(place, [...secrets, ...keys])).toEqual([]);
  await server.end('SIGTERM');
  for (const text of [...secrets, ...keys]) expect(server.stderr()).not.toContain(text);
});
