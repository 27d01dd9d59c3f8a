import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pythonTemplate } from '../../../src/engines/llama/inference/prompt/python-template.ts';

// Output of transformers for the same templates, written by `fixtures/record_templates.py`.

interface Recorded {
  conversation: Record<string, unknown>;
  cases: {
    name: string;
    file?: string;
    template?: string;
    variables?: Record<string, unknown>;
    output: string;
  }[];
}

const read = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
const { conversation, cases } = JSON.parse(read('recorded-templates.json')) as Recorded;

it.each(cases)('renders as transformers does: $name', ({ file, template, variables, output }) => {
  const source = template ?? read(`templates/${file}.jinja`);
  expect(pythonTemplate(source).render({ ...conversation, ...variables })).toBe(output);
});

it('throws the errors of a template, and for the length of a value without one', () => {
  expect(() => pythonTemplate("{{ raise_exception('no' ~ none) }}").render({})).toThrow('noNone');
  expect(() => pythonTemplate('{{ 5 | length }}').render({})).toThrow('IntegerValue has no length');
});
