import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Capabilities } from '../../src/engines/engines.ts';
import { flavorTraits } from '../../src/engines/upstream/flavors/flavors.ts';

const page = readFileSync(new URL('../../docs/structured-output.md', import.meta.url), 'utf8');
const [, section = ''] = page.split('## Guarantees on every engine');

const ofSchema: Record<Capabilities['jsonSchema'], string> = {
  exact: 'response format',
  native: 'response format',
  none: 'in words',
};
const ofTools: Record<Capabilities['forcedTool'], [named: string, required: string]> = {
  exact: ['`tool_choice`', '`tool_choice`'],
  native: ['`tool_choice`', '`tool_choice`'],
  strict: ['`tool_choice`, tools as `strict`', '`tool_choice`, tools as `strict`'],
  filter: ['sent alone, with `required`', '`tool_choice`'],
  none: ['from JSON', 'from JSON'],
};

test('the page lists the strategy of every kind of server', () => {
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| `flavor: '))
    .map((line) =>
      line
        .split('|')
        .slice(1, 5)
        .map((cell) => cell.trim()),
    );
  expect(rows).toEqual(
    Object.entries(flavorTraits).map(([flavor, { jsonSchema, forcedTool }]) => [
      `\`flavor: ${flavor}\``,
      ofSchema[jsonSchema],
      ...ofTools[forcedTool],
    ]),
  );
});

test('the page lists the servers that stream guaranteed answers as they are generated', () => {
  const exact = Object.entries(flavorTraits).filter(
    ([, { jsonSchema, forcedTool }]) => jsonSchema === 'exact' || forcedTool === 'exact',
  );
  expect(exact.map(([flavor]) => flavor)).toEqual(['offpeak']);
  expect(section).toContain('The embedded engine and another Offpeak stream answers as they are generated');
});
