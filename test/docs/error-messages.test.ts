// The page of all error messages is made from the sources: `OFFPEAK_RECORD=1 npx vitest run test/docs/error-messages.test.ts` writes it.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { errorCatalog } from '../../src/core/errors.ts';
import { collectMessages } from './collect-messages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = join(root, 'docs/error-messages.md');

const introduction = `# Error messages

Every message that Offpeak puts into an error, by its [code](errors.md).
Values of the request or the server stand in braces.
A message may change in any version: decide by the code.
`;

/** Headings of errors that end a start or a command, and so have no code. */
const classes = new Map([
  ['ConfigError', 'Configuration'],
  ['StartError', 'Start'],
  ['ModelFileError', 'Model files'],
  ['BuildError', 'Builds for graphics cards'],
  ['CliError', 'Command line'],
]);

function writePage(): string {
  const files = execFileSync('git', ['ls-files', 'src/*.ts'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');
  const messages = files
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => collectMessages(readFileSync(join(root, file), 'utf8')));
  const section = (heading: string, code: string) => {
    const texts = new Set(
      messages.filter((message) => message.code === code && /\w/.test(message.text)).map(({ text }) => text),
    );
    if (texts.size === 0) return '';
    return `\n## ${heading}\n\n${[...texts].map((text) => `- ${escaped(text)}\n`).join('')}`;
  };
  return [
    introduction,
    ...Object.keys(errorCatalog).map((code) => section(`\`${code}\``, code)),
    section('Several codes', 'several'),
    ...[...classes].map(([name, heading]) => section(heading, name)),
  ].join('');
}

/** Markdown of plain text: no markup, no HTML. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_<>[\]|]/g, String.raw`\$&`).replaceAll(/\s+/g, ' ');
}

describe('docs/error-messages.md', () => {
  it('has every message of the sources, and no other', () => {
    const text = writePage();
    if (process.env['OFFPEAK_RECORD'] === '1') writeFileSync(page, text);
    expect(readFileSync(page, 'utf8')).toBe(text);
  });
});

describe('the messages of a source', () => {
  it.each([
    ['a literal', "throw new ApiError('not_found', 'No such file.')", ['not_found: No such file.']],
    ['a field', "throw invalid('limit', `got ${quoted(text)}`)", ['validation_error: limit: got {text}']],
    ['a code of its own', "throw invalid(at, 'deep', 'too_deep')", ['too_deep: {param}: deep']],
    [
      'either',
      "new ApiError('not_found', a ? 'Gone.' : 'Never there.')",
      ['not_found: Gone.', 'not_found: Never there.'],
    ],
    ['a fault', "const a = { code: 'empty_file', message: 'No line.' }", ['empty_file: No line.']],
    ['a parameter', "function f(m) { return new ApiError('too_deep', m); } f('Deep.')", ['too_deep: Deep.']],
  ])('%s', (_, source, expected) => {
    expect(collectMessages(source).map(({ code, text }) => `${code}: ${text}`)).toEqual(expected);
  });
});
