import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { flavorTraits } from '../../../src/engines/upstream/flavors/flavors.ts';

const page = readFileSync(new URL('../../../docs/chat-completions.md', import.meta.url), 'utf8');
const [table = ''] = (page.split('| flavor | additional fields')[1] ?? '').split('\n\n');

/** Names in backquotes in the row of a flavor; a star matches any suffix. */
function namesIn(flavor: string): string[] {
  const rows = table.split('\n').map((line) => line.split('|'));
  const [, , cell = ''] = rows.find(([, first = '']) => first.includes(`\`${flavor}\``)) ?? [];
  const names = [...cell.matchAll(/`([\w*-]+)`/g)].map(([, name]) => name!);
  return names.flatMap((name) => (name in flavorTraits ? namesIn(name) : [name]));
}

test.each(Object.entries(flavorTraits))('the page lists the fields that %s is sent', (flavor, { fields }) => {
  const names = namesIn(flavor);
  const covers = (pattern: string, name: string) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
  for (const name of fields)
    expect(
      names.some((each) => covers(each, name)),
      name,
    ).toBe(true);
  for (const pattern of names)
    expect(
      fields.some((each) => covers(pattern, each)),
      pattern,
    ).toBe(true);
});

const completions = readFileSync(new URL('../../../docs/completions.md', import.meta.url), 'utf8');

test('the page of completions lists the abilities of each flavor', () => {
  const [, cells = ''] = completions.split('| flavor | raw text');
  const rows = cells
    .split('\n\n')[0]!
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, flavor = '']) => flavor.startsWith('`'))
    .map(([, flavor = '', ...own]) => [flavor.replaceAll('`', ''), own.slice(0, 6)]);
  const yes = (isAble: boolean) => (isAble ? 'yes' : 'no');
  const known = Object.entries(flavorTraits).flatMap(([flavor, traits]) => {
    const able = traits.completions;
    if (!able) return [];
    const raw = able.includes('raw') ? 'yes' : 'only with a `suffix`';
    const greedy = traits.splitChoices === 'greedy' ? '; `n` at temperature 0 one after the other' : '';
    const several = able.includes('lists') && able.includes('n') ? `yes${greedy}` : 'one after the other';
    const rest = (['best_of', 'echo', 'suffix'] as const).map((ability) => yes(able.includes(ability)));
    return [[flavor, [raw, yes(able.includes('tokens')), several, ...rest]]];
  });
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(known));
});
