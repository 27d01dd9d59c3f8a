// The language of comments, pages and messages: signs of text that is hard to read, found by rule. Passing says little; failing
// names a sentence to write again. CONTRIBUTING.md has the rules.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { collectMessages } from './docs/collect-messages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

interface Rule {
  readonly sign: RegExp;
  readonly because: string;
}

/** Signs in any text. */
const words: readonly Rule[] = [
  { sign: /\b(told|said|heard)\b/i, because: 'name the actor and what it reports, sends or receives' },
  { sign: /\b(nobody|somebody|whoever)\b/i, because: 'name the actor, or use the passive: "is not logged"' },
  { sign: /\bmend(s|ed|ing)?\b/i, because: 'write "fix" or "repair"' },
  { sign: /\bfor ever\b/i, because: 'write "forever", or the time' },
  {
    sign: /\b(be it|is gone on with|as little work as|of whom|in earnest)\b/i,
    because: 'write plain English word order',
  },
  {
    sign: /\b(is|are|was|takes) (no|none|nobody|nothing) (?:more|longer)?\b(?<!no longer)(?<!no more) ?(?=[.;:,]|$)/i,
    because: 'state it positively',
  },
  { sign: /\bspecification, section\b/i, because: 'refer to pages of docs/ alone' },
];

/** Signs at the start of a comment: a clause where a reader expects the thing. */
const openings: Rule = {
  sign: /^(What|Whether|Of|Whose|Whom|Whoever|That which|So|How)\b(?! (many|much|long|often)\b.*\?)/,
  because: 'start with the noun, or with a verb such as "Returns"',
};

/** Sentences that a rule refuses by mistake, and may stay: the start of each. */
const allowed: readonly string[] = [];

/** Comments of TypeScript, each block or run of lines joined to one text. */
function commentsOf(source: string): string[] {
  const runs = source.matchAll(
    /\/\*\*?([\s\S]*?)\*\/|((?:^[ \t]*\/\/.*\n?)+)|(?<=[;,{}()\]>a-z0-9] )\/\/ (.*)$/gm,
  );
  return [...runs].map((match) =>
    (match[1] ?? match[2] ?? match[3] ?? '')
      .replaceAll(/^[ \t]*(\*|\/\/)?[ \t]?/gm, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
}

/** The sentences of a page, without its code. */
function proseOf(markdown: string): string[] {
  return markdown
    .replaceAll(/^( *)```[\s\S]*?^\1```/gm, '')
    .replaceAll(/`[^`]*`/g, '`code`')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

function signsIn(text: string, rules: readonly Rule[]): string[] {
  if (allowed.some((start) => text.startsWith(start))) return [];
  const hit = rules.flatMap(({ sign, because }) =>
    sign.test(text) ? [`"${text.slice(0, 160)}": ${because}`] : [],
  );
  return hit;
}

function filesOf(...patterns: string[]): string[] {
  return execFileSync('git', ['ls-files', ...patterns], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');
}

const read = (file: string) => readFileSync(join(root, file), 'utf8');

describe('plain language', () => {
  const sources = filesOf(
    'src/*.ts',
    'test/*.ts',
    'bench/*.ts',
    'tools/*.mjs',
    'models/*.ts',
    'console/*.ts',
    'console/*.tsx',
  ).filter((file) => file !== 'test/language.test.ts');

  it.each(['src', 'test', 'bench', 'tools', 'models', 'console'])('in the comments of %s', (folder) => {
    const wrong = sources
      .filter((file) => file.startsWith(`${folder}/`))
      .flatMap((file) =>
        commentsOf(read(file)).flatMap((text) =>
          signsIn(text, [...words, openings]).map((sign) => `${file}: ${sign}`),
        ),
      );
    expect(wrong).toEqual([]);
  });

  it('in the pages', () => {
    const pages = filesOf('*.md', ':!CHANGELOG.md').flatMap((file) =>
      proseOf(read(file)).flatMap((text) => signsIn(text, words).map((sign) => `${file}: ${sign}`)),
    );
    expect(pages).toEqual([]);
  });

  it('in the messages of errors', () => {
    const messages = filesOf('src/*.ts')
      .filter((file) => !file.endsWith('.test.ts'))
      .flatMap((file) =>
        collectMessages(read(file)).flatMap(({ text }) =>
          signsIn(text, words).map((sign) => `${file}: ${sign}`),
        ),
      );
    expect(messages).toEqual([]);
  });
});

describe('each rule refuses', () => {
  it.each([
    ['a comment that opens with a clause', '/** Whether it is away. */', [...words, openings]],
    ['one in lines', '// Of all processes, the\n// last one.\n', [...words, openings]],
    ['one behind code', 'const a = 1; // what was said of it', words],
  ])('%s', (_, source, rules) => {
    expect(commentsOf(source).flatMap((text) => signsIn(text, rules))).toHaveLength(1);
  });

  it.each([
    'Nobody is told.',
    'It mends itself.',
    'The server waits for ever.',
    'See the specification, section 4.3.',
  ])('%s', (text) => {
    expect(signsIn(text, words)).not.toEqual([]);
  });

  it.each(['Returns the number of lines.', 'A key is no longer valid.', 'A value that is unknown.'])(
    'not: %s',
    (text) => {
      expect(signsIn(text, [...words, openings])).toEqual([]);
    },
  );
});
