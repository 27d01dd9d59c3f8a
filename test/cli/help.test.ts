// Checks for every command: help, examples, JSON output and shell completion.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/run.ts';
import { listCommands } from '../../src/cli/completion/completion.ts';
import { createFakeServer } from './support/fake-server.ts';
import { runnableCommands } from '../support/runnable-commands.ts';
import { runCli, silentCli } from './support/run-cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'offpeak-help-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = await createProgram(silentCli());
const commands = runnableCommands(program);

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
  return text;
}

describe('the help of each command', () => {
  it.each(commands)('has valid examples of $name', async ({ name, command }) => {
    const examples = (helpOf(command).split('\nExamples:\n')[1] ?? '').trimEnd().split('\n');
    for (const example of examples) {
      expect(example).toMatch(new RegExp(`^  ${name}( |$)`));
      const typed = (example.split(/ >>? | < /)[0] ?? '').match(/"[^"]*"|\S+/g) ?? [];
      const argv = typed.slice(1).map((word) => word.replace(/^"(.*)"$/, '$1'));
      // A fresh command for each example, because options stay set.
      const fresh = await createProgram(silentCli());
      const asked: string[] = [];
      for (const leaf of runnableCommands(fresh)) leaf.command.action(() => void asked.push(leaf.name));
      await fresh.parseAsync(argv, { from: 'user' });
      expect(asked, example).toEqual([name]);
    }
  });
});

describe('--json', () => {
  const page = readFileSync(join(root, 'docs/cli.md'), 'utf8').split('\n## JSON\n')[1] ?? '';
  const rows = [...page.matchAll(/^\| (`.*`) \| (.*) \|$/gm)].flatMap(([, names = '', told = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => ({ name: `offpeak ${name}`, told })),
  );
  const fieldsOf = (name: string) => {
    const told = rows.find((row) => row.name === `offpeak ${name}`)?.told ?? '';
    return [...told.matchAll(/`(\w+)`/g)].map(([, field = '']) => field);
  };

  it('is an option of every command that prints data, and documented in docs/cli.md', () => {
    const withIt = commands.filter(({ command }) => command.options.some(({ long }) => long === '--json'));
    expect(rows.map(({ name }) => name).toSorted()).toEqual(withIt.map(({ name }) => name).toSorted());
    const without = commands.filter((each) => !withIt.includes(each)).map(({ name }) => name);
    expect(without).toEqual(['offpeak demo', 'offpeak logout', 'offpeak completion']);
  });

  it('prints the fields documented in docs/cli.md', async () => {
    const server = createFakeServer();
    const request = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: {} };
    writeFileSync(join(folder, 'in.jsonl'), `${JSON.stringify(request)}\n`);
    const ask = async (...argv: string[]) => {
      const { out } = await runCli([...argv, '--json'], { server, cwd: folder, env: { HOME: folder } });
      return JSON.parse(out) as object;
    };
    const validated = await ask('files', 'validate', 'in.jsonl');
    expect(Object.keys(validated).toSorted()).toEqual(fieldsOf('files validate').toSorted());
    const run = await ask('batch', 'run', 'in.jsonl', '-o', 'out.jsonl');
    expect(run).toMatchObject({ id: 'batch_1', files: { output: join(folder, 'out.jsonl'), errors: null } });
    expect(fieldsOf('batch run')).toEqual(['files', 'output', 'errors', 'skipped', 'batches']);
    expect(await ask('batch', 'list')).toMatchObject([{ id: 'batch_1' }]);
    server.behavior.before = () => Response.json({ data: [] });
    expect(Object.keys(await ask('login')).toSorted()).toEqual(fieldsOf('login').toSorted());
  });
});

describe('completion', () => {
  const scriptOf = async (shell: string) => {
    const { code, out } = await runCli(['completion', shell]);
    expect(code).toBe(0);
    const path = join(folder, `offpeak.${shell}`);
    writeFileSync(path, out);
    return path;
  };
  const isThere = (shell: string) => spawnSync(shell, ['--version']).status === 0;
  const cases: [typed: string[], offered: string[]][] = [
    [['ba'], ['backup', 'batch']],
    [
      ['batch', 're'],
      ['results', 'resume', 'retry'],
    ],
    [['batch', 'run', 'in.jsonl', '--me'], ['--metadata']],
    [
      ['completion', ''],
      ['bash', 'fish', 'zsh'],
    ],
    // For values of options and unknown words, the shell offers files.
    [['batch', 'run', '--output', ''], []],
    [['batch', 'run', 'in'], []],
  ];

  it('recognizes the value of an option at any position', () => {
    const flags = listCommands(program).flatMap((place) => place.flags);
    const kinds = Map.groupBy(flags, ({ long }) => long);
    const mixed = [...kinds].filter(([, all]) => new Set(all.map(({ takesValue }) => takesValue)).size > 1);
    expect(mixed.map(([long]) => long)).toEqual([]);
  });

  it('rejects an unknown shell', async () => {
    expect((await runCli(['completion', 'cmd'])).err).toContain('bash, zsh, fish');
  });

  it('completes in bash', async () => {
    const script = await scriptOf('bash');
    const ask =
      'source "$0"; COMP_WORDS=(offpeak "$@"); COMP_CWORD=$#; _offpeak; printf "%s\\n" "${COMPREPLY[@]}"';
    for (const [typed, offered] of cases) {
      const { stdout, stderr } = spawnSync('bash', ['-c', ask, script, ...typed], { encoding: 'utf8' });
      expect([stdout.split('\n').filter(Boolean).toSorted(), stderr], typed.join(' ')).toEqual([offered, '']);
    }
  });

  it.skipIf(!isThere('zsh'))('is a valid script for zsh', async () => {
    const { status, stderr } = spawnSync('zsh', ['-n', await scriptOf('zsh')], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  it.skipIf(!isThere('fish'))('completes in fish', async () => {
    const ask = 'source $argv[1]; complete -C "offpeak $argv[2]"';
    const script = await scriptOf('fish');
    for (const [typed, offered] of cases.filter(([, some]) => some.length > 0)) {
      const argv = ['--no-config', '-c', ask, script, typed.join(' ')];
      const { stdout } = spawnSync('fish', argv, { encoding: 'utf8' });
      const words = stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\t')[0] ?? '');
      expect(words.toSorted(), typed.join(' ')).toEqual(offered);
    }
  });
});

describe('colors', () => {
  it.each([
    [{ FORCE_COLOR: '1' }, true],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, true],
    [{ NO_COLOR: '1' }, false],
    [{}, false],
  ])('in a pipe follow %j', (env, isColored) => {
    const { PATH } = process.env;
    const argv = [join(root, 'src/main.ts'), 'config', 'check'];
    const { stdout } = spawnSync(process.execPath, argv, {
      cwd: folder,
      env: { PATH, ...env },
      encoding: 'utf8',
    });
    expect(stdout).toContain('The configuration is valid.');
    expect(stdout.includes('\u001b[')).toBe(isColored);
  });
});
