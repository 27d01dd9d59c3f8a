import { beforeAll, describe, expect, it } from 'vitest';
import { anchorOf, createRenderer, servedLink } from './render.ts';

const library = new Set(['README', 'batches', 'engines/README', 'engines/clients']);
let renderer: Awaited<ReturnType<typeof createRenderer>>;
const render = (markdown: string, from: string) => renderer.render(markdown, from);

beforeAll(async () => {
  renderer = await createRenderer(library);
});

describe('render', () => {
  it('shows HTML of a page as text, and drops schemes that run code', () => {
    const hostile =
      '# <script>a</script>\n\n<img src=x onerror=b>\n\nx <b onclick=c>d</b> [e](javascript:f) [g](data:text/html,h) ![i](http://j)\n\n```html\n</code><script>k</script>\n```\n\n<!-- l -->\n';
    const html = render(hostile, 'batches');
    expect(html).not.toMatch(/<(script|img|b)\b|javascript:|data:|<!--/);
    expect(html).toContain('&lt;img src=x onerror=b&gt;');
  });

  it('gives headings the anchors of GitHub, each its own', () => {
    const html = render('## A `b_c`: [d](batches.md) & e\n\n## Same\n\n## Same\n', 'batches');
    const ids = [...html.matchAll(/<h2 id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids).toEqual(['a-b_c-d--e', 'same', 'same-1']);
  });

  it('numbers headings anew on each page', () => {
    render('## Same\n', 'batches');
    expect(render('## Same\n', 'batches')).toContain('id="same"');
  });
});

describe('servedLink', () => {
  it.each([
    ['batches.md', 'README', 'batches'],
    ['batches.md#the-batch', 'README', 'batches#the-batch'],
    ['engines/README.md', 'batches', 'engines/'],
    ['engines', 'batches', 'engines/'],
    ['README.md', 'batches', './'],
    ['../README.md', 'engines/clients', '../'],
    ['../batches.md#x', 'engines/clients', '../batches#x'],
    ['clients.md', 'engines/README', 'clients'],
    ['#x', 'batches', '#x'],
    ['https://example.com/a.md', 'batches', 'https://example.com/a.md'],
    ['../README.md', 'batches', undefined],
    ['../bench/results', 'batches', undefined],
    ['engines/missing.md', 'batches', undefined],
    ['javascript:batches.md', 'batches', undefined],
    ['//example.com/batches.md', 'batches', undefined],
  ])('%s of %s leads to %s', (href, from, served) => {
    expect(servedLink(href, from, library)).toBe(served);
  });
});

it('anchors are what GitHub makes of a heading', () => {
  expect(anchorOf('What goes on to a server, and what does not')).toBe(
    'what-goes-on-to-a-server-and-what-does-not',
  );
});

it('splits a page into its headings with the text below each', () => {
  const page =
    '# Top\n\nIntro `a`.\n\n## Same\n\n| x | y |\n|---|---|\n| `b` | c |\n\n```sh\n# no heading\n```\n\n## Same\n';
  expect(renderer.sections(page)).toEqual([
    { depth: 1, heading: 'Top', anchor: '', text: 'Intro a.' },
    {
      depth: 2,
      heading: 'Same',
      anchor: 'same',
      text: expect.stringMatching(/x\s+y.*b\s+c.*# no heading/) as string,
    },
    { depth: 2, heading: 'Same', anchor: 'same-1', text: '' },
  ]);
});
