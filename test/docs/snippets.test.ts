import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config.ts';
import { createWorkspace } from '../cli/support/processes.ts';
import type { Server, Workspace } from '../cli/support/processes.ts';
import { installPython, pythonIn } from '../support/install-packages.ts';
import type { Installed } from '../support/install-packages.ts';
import { allFences, toProgram } from './fences.ts';
import type { Fence } from './fences.ts';

// Runs every block of README.md and docs/ that has a language against one server with a scripted engine, or parses it.
// A block that cannot run has a reason in a comment before it: <!-- not run: the reason -->.

const root = fileURLToPath(new URL('../..', import.meta.url));
const fences = allFences(root);
const named = (name: string) => fences.find((fence) => fence.name === name)?.text ?? '';
const run = promisify(execFile);

let place: Workspace;
let server: Server;
let python: Installed;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  place = createWorkspace();
  const config = place.read('offpeak.yaml').replace('[default]', '[default, offpeak-tiny]');
  place.write('offpeak.yaml', config + named('endpoints'));
  server = await place.serve();
  place.write('requests.jsonl', named('requests.jsonl'));
  for (const name of ['node_modules', 'examples']) symlinkSync(join(root, name), join(place.folder, name));
  mkdirSync(join(place.folder, 'bin'));
  const main = join(root, 'src/main.ts');
  place.write('bin/offpeak', `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  chmodSync(join(place.folder, 'bin/offpeak'), 0o755);
  env = {
    ...process.env,
    ...server.env,
    OFFPEAK_ADMIN_KEY: server.ready.keys?.admin_key,
    PATH: [join(place.folder, 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
  };
  const requirements = readFileSync(join(root, 'test/sdk/python/requirements.txt'), 'utf8')
    .trim()
    .split('\n');
  python = await installPython(join(root, 'node_modules/.cache/offpeak-python'), requirements);
});

afterAll(() => place.remove());

/** Replaces the default address of a server, which the pages use. */
const here = (text: string) => text.replaceAll('http://127.0.0.1:8080', server.ready.url);

async function runs(program: string, argv: string[]): Promise<string> {
  const { stdout } = await run(program, argv, { cwd: place.folder, env, encoding: 'utf8' });
  return stdout;
}

const yamlSources = (text: string) => ({
  env: Object.fromEntries(Array.from(text.matchAll(/\$\{(\w+)\}/g), ([, name]) => [name, 'x'.repeat(40)])),
  cwd: '/x',
  exists: () => true,
  // Files elsewhere are those of `${file:...}`.
  readFile: (path: string) => (path.startsWith('/x/') ? text : 'abcdefghij0123456789'.repeat(2)),
});

/** Completes a fragment of a configuration. */
function wholeConfig(text: string): string {
  const keys = Object.keys(parse(text.replaceAll(/\$\{\w+\}/g, 'x')) as object);
  const indented = (by: number) => text.replaceAll(/^/gm, ' '.repeat(by));
  if (keys.includes('urls')) return `models:\n  - id: m\n    engine:\n      kind: openai\n${indented(6)}`;
  if (keys.includes('engine')) return `models:\n  - id: m\n${indented(4)}`;
  return text;
}

const runners: Record<string, (fence: Fence) => Promise<unknown>> = {
  json: async ({ text }) =>
    expect(() =>
      text
        .trim()
        .split(/\n(?=\{)/)
        .map((each) => JSON.parse(each)),
    ).not.toThrow(),
  yaml: async ({ text }) => expect(() => loadConfig(yamlSources(wholeConfig(text)))).not.toThrow(),
  sh: ({ text }) => runs('sh', ['-euc', here(text)]),
  js: (fence) => {
    place.write('snippet.mjs', here(toProgram(fence, fences)));
    return runs(process.execPath, ['snippet.mjs']);
  },
  python: (fence) =>
    runs('folder' in python ? pythonIn(python.folder) : '', ['-c', here(toProgram(fence, fences))]),
};

const needs: Record<string, () => string | undefined> = {
  sh: () => (spawnSync('curl', ['--version']).status === 0 ? undefined : 'curl is not installed'),
  python: () => ('missing' in python ? python.missing : undefined),
};

/** Blocks that take arguments or listen, with the tests that run them. */
const ownTests: Record<string, string> = {
  events: 'test/docs/snippets.test.ts',
  'message-batch': 'test/docs/snippets.test.ts',
  'receiver.mjs': 'test/sdk/webhooks.test.ts',
};

/** Checks of the output of named blocks. */
const prints: Record<string, (text: string) => void> = {
  js: (text) =>
    expect(JSON.parse(text)).toMatchObject({ custom_id: 'a', response: { status_code: 200 }, error: null }),
  curl(text) {
    const [batch] = text.split('}{');
    expect(batch).toContain('"object":"batch"');
    expect(batch).toContain('"total":1');
  },
  create: (text) =>
    expect(JSON.parse(text)).toMatchObject({ request_counts: { total: 1, completed: 0, failed: 0 } }),
};

describe('snippets of the pages', () => {
  it('have a language that is run or parsed, or a reason not to', () => {
    expect(fences.length).toBeGreaterThan(40);
    for (const [name, file] of Object.entries(ownTests)) {
      expect(fences.map((fence) => fence.name)).toContain(name);
      expect(readFileSync(join(root, file), 'utf8')).toContain(`'${name}'`);
    }
    expect(
      fences.filter(({ language, notRun }) => !(language in runners) && !notRun).map(({ at }) => at),
    ).toEqual([]);
  });

  const runnable = fences.filter(
    ({ notRun, name = '', language }) => language in runners && !notRun && !(name in ownTests),
  );
  it.for(runnable.map((fence) => [`${fence.at} (${fence.language})`, fence] as const))(
    '%s',
    async ([, fence], { skip }) => {
      const missing = needs[fence.language]?.();
      if (missing) return skip(missing);
      const output = String(await runners[fence.language]?.(fence));
      prints[fence.name ?? '']?.(output);
    },
  );

  it('continue from a created batch', async () => {
    const batch = JSON.parse(await runs('sh', ['-euc', named('create')])) as { id: string };
    place.write('events.mjs', named('events'));
    const output = await runs(process.execPath, ['events.mjs', server.ready.url, batch.id]);
    expect(output.trim().split('\n').at(-1)).toBe('completed 1');
  });

  it('create a batch with the Anthropic client', async () => {
    place.write('messages.mjs', named('message-batch'));
    expect((await runs(process.execPath, ['messages.mjs', server.ready.url])).trim()).toBe('rome succeeded');
  });

  it('show a valid request and configuration', async () => {
    expect((await place.run(['files', 'validate', 'requests.jsonl'])).code).toBe(0);
    expect(loadConfig(yamlSources(named('offpeak.yaml'))).models[0]).toMatchObject({
      id: 'qwen3-32b',
      engine: { replicas: [{ slots: 64 }] },
    });
  });

  it('enable endpoints whose files the command line validates and runs', async () => {
    const body = { model: 'default', max_tokens: 9, messages: [{ role: 'user', content: 'Hello.' }] };
    place.write(
      'messages.jsonl',
      JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/messages', body }),
    );
    const checked = await place.run(['files', 'validate', 'messages.jsonl']);
    expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('to /v1/messages')]);
    expect(checked.err).toContain('batch.endpoints');
    const ran = await place.run(['batch', 'run', 'messages.jsonl', '-o', 'messages.out.jsonl'], server.env);
    expect(ran.code).toBe(0);
    expect(place.read('messages.out.jsonl')).toContain('"type":"message"');
  });
});
