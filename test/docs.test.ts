import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentCli } from './cli/support/run-cli.ts';
import { createWorkspace } from './cli/support/processes.ts';
import type { Server, Workspace } from './cli/support/processes.ts';
import { anthropicCells, openaiCells } from './sdk/matrix/cells.ts';
import { nameOf, programs } from './clients/programs.ts';
import { errorRows } from './sdk/errors/error-rows.ts';
import { createProgram } from '../src/cli/run.ts';
import { configKeys, environmentKeys } from '../src/config/keys.ts';
import { loadConfig } from '../src/config.ts';
import { batchStatuses } from '../src/core/batch.ts';
import { catalogue } from '../src/core/errors.ts';
import { waitingReasons } from '../src/core/waiting.ts';
import { batchSchema } from '../src/server/openapi/answer-schemas.ts';
import { routes } from '../src/server/routes/routes.ts';
import { validator } from '../src/wire/validate.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** The text below each heading of `level`, by heading. */
function sections(text: string, level: number): Map<string, string> {
  const parts = text.split(new RegExp(`^#{${level}} `, 'm')).slice(1);
  return new Map(
    parts.map((part) => {
      const [heading = '', ...rest] = part.split('\n');
      return [heading, rest.join('\n').split(/^#{1,3} /m)[0] ?? ''];
    }),
  );
}

/** The first cell of each row that is code, without its backticks. */
function firstCells(text: string): string[] {
  return [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? '');
}

describe('docs/errors.md', () => {
  it('has every code of the catalogue with its status, and no other', () => {
    const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)];
    const told = rows.map(([, code, status]) => `${code} ${status}`);
    const known = Object.entries(catalogue).map(([code, { status }]) => `${code} ${status}`);
    expect(told.toSorted()).toEqual(known.toSorted());
  });
});

describe('docs/configuration.md', () => {
  const parts = sections(read('docs/configuration.md'), 3);

  it.each(Object.entries(configKeys))('has every key of %s, and no other', (name, keys) => {
    expect(firstCells(parts.get(name) ?? '')).toEqual([...keys]);
  });

  it('has every variable, and what it sets', () => {
    const environment = read('docs/configuration.md').split('## Environment')[1] ?? '';
    expect(firstCells(environment).toSorted()).toEqual(
      ['OFFPEAK_CONFIG', 'OFFPEAK_URL', ...Object.keys(environmentKeys)].toSorted(),
    );
    for (const [variable, key] of Object.entries(environmentKeys))
      expect(environment).toMatch(new RegExp(`^\\| \`${variable}\` \\| \`${key}\``, 'm'));
  });
});

describe('docs/reliability.md', () => {
  const rows = [...read('docs/reliability.md').matchAll(/^\| (F\d\d) \|.*\| ([^|]+) \|$/gm)];

  it.each(rows.map(([, id, tests]) => [id!, tests!]))(
    '%s stands in the tests that its row names',
    (id, tests) => {
      const paths = [...tests.matchAll(/`([^`]+)`/g)].map(([, path]) => path!);
      expect(paths.length).toBeGreaterThan(0);
      for (const path of paths) expect(read(path), path).toMatch(new RegExp(`\\b${id}\\b`));
    },
  );

  it('has every fault from F01 to F55, if only among those that are not tried', () => {
    const page = read('docs/reliability.md');
    const all = Array.from({ length: 55 }, (_, n) => `F${`${n + 1}`.padStart(2, '0')}`);
    expect(all.filter((id) => !page.includes(id))).toEqual([]);
  });
});

describe('pages that comments refer to', () => {
  const files = execFileSync('git', ['ls-files', 'src/*.ts', 'test/*.ts', 'bench/*.ts'], {
    cwd: root,
    encoding: 'utf8',
  });
  const references = files
    .trim()
    .split('\n')
    .flatMap((file) =>
      [
        ...read(file)
          .replaceAll(/\n\s*(?:\*|\/\/) ?/g, ' ')
          .matchAll(/(?<![/\w-])([a-z-]+\.md)(?:`?, (sections? [\da-e., and]+|"[^"]+"))?/g),
      ].map(([, page, place]) => ({ file, page: page!, place: place ?? '' })),
    );

  it('exist, with the sections that are named', () => {
    expect(references.length).toBeGreaterThan(50);
    const wrong = references.filter(({ page, place }) => !stands(page, place));
    expect(wrong).toEqual([]);
  });

  function stands(page: string, place: string): boolean {
    const path = ['docs/design', 'docs', '.']
      .map((folder) => join(folder, page))
      .find((each) => existsSync(join(root, each)));
    if (path === undefined) return false;
    const headings = [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!);
    const numbers = [...place.matchAll(/\d[\d.]*[a-e]?/g)].map(([number]) => number.replace(/\.$/, ''));
    const names = [...place.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);
    return (
      numbers.every(
        (number) =>
          headings.some((heading) => heading.replace('. ', ' ').startsWith(`${number} `)) ||
          ruleOf(path, number),
      ) && names.every((name) => headings.includes(name))
    );
  }

  /** `0.8` is the eighth rule of section 0. */
  function ruleOf(path: string, number: string): boolean {
    const [section, rule] = number.split('.');
    const text =
      read(path)
        .split(new RegExp(`^## ${section}\\. .*$`, 'm'))[1]
        ?.split(/^## /m)[0] ?? '';
    return rule !== undefined && new RegExp(`^${rule}\\. `, 'm').test(text);
  }
});

describe('docs/clients.md', () => {
  const parts = sections(read('docs/clients.md'), 2);
  const cellsOf = (heading: string) => [...(parts.get(heading) ?? '').matchAll(/^\| ([a-z][^|]*) \|/gm)];

  it.each([
    ['openai', openaiCells],
    ['anthropic', anthropicCells],
  ])('has every cell of the matrix of %s, and no other', (family, cells) => {
    expect(cellsOf(`What works: ${family}`).map(([, cell]) => cell)).toEqual([...cells]);
  });

  it('has what every error becomes', () => {
    const rows = [
      ...(parts.get('Errors') ?? '').matchAll(/^\| (\d+) \| `(\w+)` \| `(\w+)` \| (yes|no) \|$/gm),
    ];
    expect(rows.map(([, ...row]) => row)).toEqual(
      errorRows.map(({ status, openai, anthropic, retried }) => [
        `${status}`,
        openai,
        anthropic,
        retried ? 'yes' : 'no',
      ]),
    );
  });

  it('has every program that is tried, in the version that is tried', () => {
    const text = parts.get('What works: frameworks and programs') ?? '';
    const told = [...text.matchAll(/^\| ([^|]+ \([\d.]+\)) \|/gm)].map(([, program]) => program);
    expect([...new Set(told)]).toEqual(
      programs.flatMap((program) => (program.checkout ? [] : [nameOf(program)])),
    );
  });

  it('has the versions that the tests use', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as {
      devDependencies: Record<string, string>;
    };
    const minor = (text = '') => /\d+\.\d+/.exec(text.replace(/^npm:.*@/, ''))?.[0];
    const javascript = (...names: string[]) => names.map((name) => minor(devDependencies[name])).join(', ');
    const python = (name: string) => minor(new RegExp(`^${name}==(.*)$`, 'm').exec(pinned)?.[1]);
    const pinned = read('test/sdk/python/requirements.txt');
    const told = [...read('docs/clients.md').matchAll(/^\| `(\S+)` \| ([\d., ]+) \| (\w+) \|$/gm)];
    expect(told.map(([, ...row]) => row)).toEqual([
      ['openai', javascript('openai6', 'openai'), 'JavaScript'],
      ['openai', python('openai'), 'Python'],
      ['@anthropic-ai/sdk', javascript('anthropic0', '@anthropic-ai/sdk'), 'JavaScript'],
      ['anthropic', python('anthropic'), 'Python'],
    ]);
  });
});

const program = await createProgram(silentCli());

describe('docs/cli.md', () => {
  const parts = sections(read('docs/cli.md'), 3);
  const commands = leaves(program);
  const shared = ['--url', '--key-file', '--key', '--json'];

  it('has every command, and no other', () => {
    expect([...parts.keys()].toSorted()).toEqual(commands.map(({ name }) => name).toSorted());
  });

  it.each(commands)('has every flag of $name, and no other', ({ name, command }) => {
    const told = [...(parts.get(name) ?? '').matchAll(/--[a-z][a-z0-9-]*/g)].map(([flag]) => flag);
    const known = command.options.map((option) => option.long ?? '');
    expect(known.filter((flag) => !shared.includes(flag) && !told.includes(flag))).toEqual([]);
    expect(told.filter((flag) => !known.includes(flag))).toEqual([]);
  });
});

function leaves(command: Command, path: string[] = []): { name: string; command: Command }[] {
  const here = [...path, command.name()];
  if (command.commands.length === 0) return [{ name: here.join(' '), command }];
  return command.commands.flatMap((child) => leaves(child, here));
}

/** What stands in the blocks of a page that are to be tested, by their names. */
function snippetsOf(path: string): Map<string, string> {
  const blocks = read(path).matchAll(/<!-- test: (\S+) -->\n```\w+\n([\s\S]*?)```/g);
  return new Map(Array.from(blocks, ([, name = '', text = '']) => [name, text]));
}

describe('docs/batches.md', () => {
  const parts = sections(read('docs/batches.md'), 2);

  it('shows a batch that is one, with every field', () => {
    const batch = JSON.parse(snippetsOf('docs/batches.md').get('batch') ?? '') as object;
    expect(validator(batchSchema as never)(batch)).toEqual([]);
    expect(Object.keys(batch).toSorted()).toEqual(
      Object.keys((batchSchema as { properties: object }).properties).toSorted(),
    );
  });

  it('has every state', () => {
    expect(firstCells(parts.get('The batch') ?? '').toSorted()).toEqual(batchStatuses.toSorted());
  });

  it('has every reason to wait', () => {
    const told = parts.get('Why it waits') ?? '';
    const rows = [...told.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) =>
      cell.replaceAll('`', '').split(', '),
    );
    expect(rows.flat().toSorted()).toEqual(waitingReasons.toSorted());
  });

  it('has every call', () => {
    const told = read('docs/batches.md').split('## The batch')[0] ?? '';
    for (const { path } of routes.filter((route) => route.path.startsWith('/v1/batches')))
      expect(told).toContain(path.replace(':batch_id', '{id}').replace(/.*(?=\/(errors|resume))/, ''));
  });
});

describe('the snippets of README.md and docs/batches.md', () => {
  const snippets = snippetsOf('README.md');
  const ofBatches = snippetsOf('docs/batches.md');
  let place: Workspace;
  let server: Server;

  beforeAll(async () => {
    place = createWorkspace();
    place.write('offpeak.yaml', place.read('offpeak.yaml') + (ofBatches.get('endpoints') ?? ''));
    server = await place.serve();
    place.write('requests.jsonl', snippets.get('requests.jsonl') ?? '');
    symlinkSync(join(root, 'node_modules'), join(place.folder, 'node_modules'));
  });

  afterAll(() => place.remove());

  it('shows a request that is valid', async () => {
    expect((await place.run(['files', 'validate', 'requests.jsonl'])).code).toBe(0);
  });

  it('shows a configuration that is valid', () => {
    const text = snippets.get('offpeak.yaml') ?? '';
    const sources = { env: { QWEN_KEY: 'k' }, cwd: '/x', exists: () => true, readFile: () => text };
    expect(loadConfig(sources).models[0]).toMatchObject({
      id: 'qwen3-32b',
      engine: { replicas: [{ slots: 64 }] },
    });
  });

  it('shows JavaScript that runs', () => {
    place.write('snippet.mjs', snippets.get('js') ?? '');
    const env = { ...process.env, ...server.env };
    const out = execFileSync(process.execPath, ['snippet.mjs'], { cwd: place.folder, env, encoding: 'utf8' });
    expect(JSON.parse(out)).toMatchObject({ custom_id: 'a', response: { status_code: 200 }, error: null });
  });

  it.skipIf(spawnSync('curl', ['--version']).status !== 0)('shows curl commands that run', () => {
    const env = { ...process.env, ...server.env };
    const out = execFileSync('sh', ['-eu'], {
      cwd: place.folder,
      env,
      input: snippets.get('curl') ?? '',
      encoding: 'utf8',
    });
    const [batch] = out.split('}{');
    expect(batch).toContain('"object":"batch"');
    expect(batch).toContain('"total":1');
  });

  it.skipIf(spawnSync('curl', ['--version']).status !== 0)('make a batch and follow its events', () => {
    const env = { ...process.env, ...server.env };
    const input = ofBatches.get('create') ?? '';
    const made = execFileSync('sh', ['-eu'], { cwd: place.folder, env, input, encoding: 'utf8' });
    const batch = JSON.parse(made) as { id: string; request_counts: object };
    expect(batch.request_counts).toEqual({ total: 1, completed: 0, failed: 0 });
    place.write('events.mjs', ofBatches.get('events') ?? '');
    const argv = ['events.mjs', server.env.OFFPEAK_URL ?? '', batch.id];
    const out = execFileSync(process.execPath, argv, { cwd: place.folder, env, encoding: 'utf8' });
    expect(out.trim().split('\n').at(-1)).toBe('completed 1');
  });

  it('make a batch with the client of another format', () => {
    place.write('messages.mjs', ofBatches.get('message-batch') ?? '');
    const options = { cwd: place.folder, env: { ...process.env, ...server.env }, encoding: 'utf8' } as const;
    const argv = ['messages.mjs', server.env.OFFPEAK_URL ?? ''];
    expect(execFileSync(process.execPath, argv, options).trim()).toBe('rome succeeded');
  });

  it('open endpoints whose files the command line checks and runs', async () => {
    const body = { model: 'default', max_tokens: 9, messages: [{ role: 'user', content: 'Hello.' }] };
    const line = { custom_id: 'a', method: 'POST', url: '/v1/messages', body };
    place.write('messages.jsonl', JSON.stringify(line));
    const checked = await place.run(['files', 'validate', 'messages.jsonl']);
    expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('to /v1/messages')]);
    expect(checked.err).toContain('batch.endpoints');
    const ran = await place.run(['batch', 'run', 'messages.jsonl', '-o', 'messages.out.jsonl'], server.env);
    expect(ran.code).toBe(0);
    expect(place.read('messages.out.jsonl')).toContain('"type":"message"');
  });
});
