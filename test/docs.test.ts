import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runnableCommands } from './support/runnable-commands.ts';
import { silentCli } from './cli/support/run-cli.ts';
import { readRules } from './deploy/queries.ts';
import { findFences } from './docs/fences.ts';
import { anthropicCells, openaiCells } from './sdk/matrix/cells.ts';
import { listMetrics } from './support/metric-names.ts';
import { versionedName, programs } from './clients/programs.ts';
import { errorRows } from './sdk/errors/error-rows.ts';
import { createProgram } from '../src/cli/run.ts';
import { configKeys, environmentKeys } from '../src/config/keys.ts';
import { batchStatuses } from '../src/core/batch.ts';
import { errorCatalog } from '../src/core/errors.ts';
import { waitingReasons } from '../src/core/waiting.ts';
import { batchHistorySchema, batchSchema } from '../src/server/openapi/answer-schemas.ts';
import { openApiPath } from '../src/server/openapi/build-openapi.ts';
import { routes } from '../src/server/routes/routes.ts';
import { validator } from '../src/wire/schema/validate.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Text below each heading of `level`, by heading. */
function sections(text: string, level: number): Map<string, string> {
  const parts = text.split(new RegExp(`^#{${level}} `, 'm')).slice(1);
  return new Map(
    parts.map((part) => {
      const [heading = '', ...rest] = part.split('\n');
      return [heading, rest.join('\n').split(/^#{1,3} /m)[0] ?? ''];
    }),
  );
}

/** First cells that are code, without backticks. */
function firstCells(text: string): string[] {
  return [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? '');
}

describe('docs/errors.md', () => {
  it('lists every code of the catalog with its status, and no other', () => {
    const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)];
    const listed = rows.map(([, code, status]) => `${code} ${status}`);
    const known = Object.entries(errorCatalog).map(([code, { status }]) => `${code} ${status}`);
    expect(listed.toSorted()).toEqual(known.toSorted());
  });

  it('describes the cause and the remedy of every code', () => {
    const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| \d{3} \|(.*)\|(.*)\|$/gm)];
    const lacking = rows.filter(
      ([, , when = '', advice = '']) => when.trim() === '' || advice.trim().length < 5,
    );
    expect(lacking.map(([, code]) => code)).toEqual([]);
  });
});

describe('docs/http-api.md', () => {
  it('lists every call below its tag with its scope, and no other', () => {
    const scopes: Record<string, string> = { open: 'no key', key: 'any key' };
    const parts = sections(read('docs/http-api.md'), 3);
    const listed = [...parts].flatMap(([tag, text]) =>
      [...text.matchAll(/^\| `([A-Z]+ .*)` \| (.*) \| .+ \|$/gm)].map((row) => [tag, ...row.slice(1)]),
    );
    const known = routes.map(({ method, path, access, docs: { tag } }) => [
      tag,
      `${method} ${openApiPath(path)}`,
      scopes[access] ?? `\`${access}\``,
    ]);
    const inOrder = (rows: string[][]) => rows.map((row) => row.join(' | ')).toSorted();
    expect(inOrder(listed)).toEqual(inOrder(known));
  });
});

describe('docs/configuration.md', () => {
  const parts = sections(read('docs/configuration.md'), 3);

  it.each(Object.entries(configKeys))('lists every key of %s, and no other', (name, keys) => {
    expect(firstCells(parts.get(name) ?? '')).toEqual([...keys]);
  });

  it('lists every variable and what it sets', () => {
    const environment = read('docs/configuration.md').split('## Environment')[1] ?? '';
    expect(firstCells(environment).toSorted()).toEqual(
      ['OFFPEAK_CONFIG', 'OFFPEAK_URL', 'PORT', ...Object.keys(environmentKeys)].toSorted(),
    );
    for (const [variable, key] of Object.entries(environmentKeys))
      expect(environment).toMatch(new RegExp(`^\\| \`${variable}\` \\| \`${key}\``, 'm'));
  });
});

describe('docs/metrics.md', () => {
  it('lists every metric with its type and labels, and no other', () => {
    const known = listMetrics().map(({ name, type, labelNames }) => {
      const labels = labelNames.map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${labels} |`;
    });
    const rows = [...read('docs/metrics.md').matchAll(/^\| `offpeak_\w+` \| \w+ \| [^|]*\|/gm)];
    expect(rows.map(([row]) => row).toSorted()).toEqual(known.toSorted());
  });
});

describe('deploy/prometheus-rules.yml', () => {
  it('has the alerts of docs/metrics.md', () => {
    const listed = read('docs/metrics.md').match(/(?<=^\| `)Offpeak\w+/gm);
    expect(readRules().map(({ alert }) => alert)).toEqual(listed);
  });
});

describe('docs/reliability.md', () => {
  const rows = [...read('docs/reliability.md').matchAll(/^\| (F\d\d) \|.*\| ([^|]+) \|$/gm)];

  it.each(rows.map(([, id, tests]) => [id!, tests!]))('%s is named by the tests of its row', (id, tests) => {
    const paths = [...tests.matchAll(/`([^`]+)`/g)].map(([, path]) => path!);
    expect(paths.length).toBeGreaterThan(0);
    for (const path of paths) expect(withoutComments(read(path)), path).toMatch(new RegExp(`\\b${id}\\b`));
  });

  function withoutComments(source: string): string {
    return source.replaceAll(/^\s*\/\/.*$/gm, '');
  }

  it('names every fault from F01 to F55', () => {
    const page = read('docs/reliability.md');
    const all = Array.from({ length: 55 }, (_, n) => `F${`${n + 1}`.padStart(2, '0')}`);
    expect(all.filter((id) => !page.includes(id))).toEqual([]);
  });
});

describe('docs/security.md', () => {
  const rows = [...read('docs/security.md').matchAll(/^\| (C\d\d) \|.*\| ([^|]+) \|$/gm)];

  it('has a row for every threat from C01 to C30, in order', () => {
    const all = Array.from({ length: 30 }, (_, n) => `C${`${n + 1}`.padStart(2, '0')}`);
    expect(rows.map(([, id]) => id)).toEqual(all);
  });

  it.each(rows.map(([, id, tests]) => [id!, tests!]))(
    '%s is in a title of every test of its row',
    (id, tests) => {
      const paths = [...tests.matchAll(/`([^`]+)`/g)].map(([, path]) => path!);
      expect(paths.length).toBeGreaterThan(0);
      for (const path of paths)
        expect(
          titlesIn(read(path)).filter((title) => title.includes(id)),
          path,
        ).not.toEqual([]);
    },
  );

  function titlesIn(source: string): string[] {
    const calls = /(?:\b(?:it|test|describe)(?:\.\w+)*\(|\)\()\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;
    return [...source.matchAll(calls)].map(([, , title]) => title!);
  }
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

  it('exist with the named sections', () => {
    expect(references.length).toBeGreaterThan(30);
    const wrong = references.filter(({ page, place }) => !exists(page, place));
    expect(wrong).toEqual([]);
  });

  function exists(page: string, place: string): boolean {
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

it('names only paths that exist', () => {
  const pages = execFileSync('git', ['ls-files', 'docs/*.md', 'CONTRIBUTING.md', 'bench/README.md'], {
    cwd: root,
    encoding: 'utf8',
  });
  const named = pages
    .trim()
    .split('\n')
    .flatMap((page) =>
      [...read(page).matchAll(/`((?:src|test|bench|tools|bin|deploy|findings)\/[\w./-]+)`/g)].map(
        ([, path]) => [page, path!] as const,
      ),
    );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(([, path]) => !existsSync(join(root, path)))).toEqual([]);
});

describe('docs/clients.md', () => {
  const parts = sections(read('docs/clients.md'), 2);
  const cellsOf = (heading: string) => [...(parts.get(heading) ?? '').matchAll(/^\| ([a-z][^|]*) \|/gm)];

  it.each([
    ['openai', openaiCells],
    ['anthropic', anthropicCells],
  ])('lists every cell of the matrix of %s, and no other', (family, cells) => {
    expect(cellsOf(`What works: ${family}`).map(([, cell]) => cell)).toEqual([...cells]);
  });

  it('lists the exception for every error', () => {
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

  it('lists every tested program with its version', () => {
    const text = parts.get('What works: frameworks and programs') ?? '';
    const listed = [...text.matchAll(/^\| ([^|]+ \([\d.]+\)) \|/gm)].map(([, program]) => program);
    expect([...new Set(listed)]).toEqual(
      programs.flatMap((program) => (program.checkout ? [] : [versionedName(program)])),
    );
  });

  it('lists the tested versions', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as {
      devDependencies: Record<string, string>;
    };
    const minor = (text = '') => /\d+\.\d+/.exec(text.replace(/^npm:.*@/, ''))?.[0];
    const javascript = (...names: string[]) => names.map((name) => minor(devDependencies[name])).join(', ');
    const python = (name: string) => minor(new RegExp(`^${name}==(.*)$`, 'm').exec(pinned)?.[1]);
    const pinned = read('test/sdk/python/requirements.txt');
    const listed = [...read('docs/clients.md').matchAll(/^\| `(\S+)` \| ([\d., ]+) \| (\w+) \|$/gm)];
    expect(listed.map(([, ...row]) => row)).toEqual([
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
  const commands = runnableCommands(program);
  const shared = ['--url', '--key-file', '--key', '--json'];

  it('lists every command, and no other', () => {
    expect([...parts.keys()].toSorted()).toEqual(commands.map(({ name }) => name).toSorted());
  });

  it.each(commands)('lists every flag of $name, and no other', ({ name, command }) => {
    const listed = [...(parts.get(name) ?? '').matchAll(/--[a-z][a-z0-9-]*/g)].map(([flag]) => flag);
    const known = command.options.map((option) => option.long ?? '');
    expect(known.filter((flag) => !shared.includes(flag) && !listed.includes(flag))).toEqual([]);
    expect(listed.filter((flag) => !known.includes(flag))).toEqual([]);
  });
});

describe('docs/batches.md', () => {
  const fences = findFences('docs/batches.md', read('docs/batches.md'));
  const parts = sections(read('docs/batches.md'), 2);

  it('shows a valid batch with every field', () => {
    const batch = JSON.parse(fences.find(({ name }) => name === 'batch')?.text ?? '') as object;
    expect(validator(batchSchema as never)(batch)).toEqual([]);
    expect(Object.keys(batch).toSorted()).toEqual(
      Object.keys((batchSchema as { properties: object }).properties).toSorted(),
    );
  });

  it('shows a valid history with every field', () => {
    const history = JSON.parse(fences.find(({ name }) => name === 'history')?.text ?? '') as object;
    expect(validator(batchHistorySchema as never)(history)).toEqual([]);
  });

  it('lists every state', () => {
    expect(firstCells(parts.get('The batch object') ?? '').toSorted()).toEqual(batchStatuses.toSorted());
  });

  it('lists every reason to wait', () => {
    const listed = parts.get('Why a batch waits') ?? '';
    const rows = [...listed.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) =>
      cell.replaceAll('`', '').split(', '),
    );
    expect(rows.flat().toSorted()).toEqual(waitingReasons.toSorted());
  });

  it('lists every call', () => {
    const listed = read('docs/batches.md').split('## The batch object')[0] ?? '';
    for (const { path } of routes.filter((route) => route.path.startsWith('/v1/batches')))
      expect(listed).toContain(
        path
          .replace(':batch_id', '{id}')
          .replace(':line', '{line}')
          .replace(':action_id', '{action_id}')
          .replace(/.*(?=\/(errors|resume))/, ''),
      );
  });
});
