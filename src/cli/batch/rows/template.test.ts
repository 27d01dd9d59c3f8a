import { describe, expect, it } from 'vitest';
import { compileTemplate, requireColumns } from './template.ts';

const compile = (source: string) => compileTemplate('--prompt', source);
const columnsOf = (source: string) => [...compile(source).columns];

describe('a template', () => {
  it.each([
    ['Classify: {{ review }}', ['review']],
    ['{{ row["Review text"] }} {{ row.id }}', ['Review text', 'id']],
    ['{{ a.b["c"] }} {{ d[e] }}', ['a', 'd', 'e']],
    ['{% for tag in tags %}{{ loop.index }} {{ tag }}{% endfor %}', ['tags']],
    ['{% set x = a %}{{ x }}{% if b is defined and c == "q" %}{% endif %}', ['a', 'b', 'c']],
    ['{{ a | default(b) | upper }} {{ c | join(", ") }}', ['a', 'b', 'c']],
    ['{{ range(3) | list }} {{ true }}', []],
    ['no columns', []],
  ])('%s names its columns', (source, columns) => {
    expect(columnsOf(source)).toEqual(columns);
  });

  it('writes nothing for a missing value, for which a default may stand', () => {
    expect(compile('<{{ a }}{{ b | default("none") }}>').render({ a: null, b: null })).toBe('<none>');
  });

  it('does not run a template that is in the data', () => {
    expect(compile('{{ a }}').render({ a: '{{ b }}', b: 'secret' })).toBe('{{ b }}');
  });

  it('with an error is rejected with a way to name columns', () => {
    expect(() => compile('{{ Review text }}')).toThrow('--prompt is not a valid template');
  });

  it('with a column that is not there is rejected with those there are', () => {
    const table = { name: 'r.csv', columns: ['id', 'review'] };
    expect(() => requireColumns(compile('{{ reviev }}'), table)).toThrow(
      "--prompt names the column 'reviev', which r.csv does not have: its columns are id, review.",
    );
  });
});
