import { describe, expect, it } from 'vitest';
import type { Page } from './library.ts';
import type { PageSection } from './render.ts';
import { createSearch } from './search.ts';

const section = (heading: string, text: string, anchor = ''): PageSection => ({
  depth: 2,
  heading,
  anchor,
  text,
});
const sections: Record<string, PageSection[]> = {
  batches: [
    section('Batches', 'A batch has a window.'),
    section('Retry', 'Send the failed lines again. a<b>c</b>', 'retry'),
  ],
  'engines/README': [section('Engines', 'vLLM and others; set `batch.hours` to pause.')],
};
const library = new Map(
  Object.keys(sections).map((name) => [
    name,
    { name, markdown: '', title: sections[name]![0]!.heading, summary: '' } satisfies Page,
  ]),
);
const search = await createSearch(library, ({ name }) => sections[name]!);

describe('search', () => {
  it('links to the section, with its page', () => {
    expect(search('retry')).toContain('<a href="batches#retry">Batches: Retry</a>');
    expect(search('vllm')).toContain('<a href="engines/">Engines</a>');
  });

  it('finds the start of a word and a word with a typo', () => {
    expect(search('fail')).toContain('batches#retry');
    expect(search('windoww')).toContain('href="batches"');
  });

  it('marks the words, and shows markup of a page or of a query as text', () => {
    expect(search('failed')).toContain('<mark>failed</mark>');
    expect(search('failed')).toContain('a&lt;b&gt;');
    expect(search('<script>')).not.toContain('<script>');
  });

  it('prefers sections with all words', () => {
    expect(search('failed lines')).not.toContain('engines/');
  });

  it.each(['', '(((', '$^ |', 'x'.repeat(5_000), 'zzzzqqq'])(
    'answers a query that finds nothing: %.20s',
    (query) => {
      expect(search(query)).toContain('No page');
    },
  );
});
