import { createHash } from 'node:crypto';
import { escape } from './render.ts';
import { style } from './style.ts';

/**
 * The whole script, part of each page: a button that copies a code block, and a menu that closes once a link of it was followed.
 * `navigator.clipboard` is missing on plain HTTP, where the selection is copied instead.
 */
const script = `
for (const block of document.querySelectorAll('.block')) {
  const code = block.querySelector('code');
  const button = document.createElement('button');
  button.className = 'copy';
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    if (navigator.clipboard) await navigator.clipboard.writeText(code.textContent);
    else { getSelection().selectAllChildren(code); document.execCommand('copy'); getSelection().removeAllRanges(); }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  block.append(button);
}
for (const menu of document.querySelectorAll('[popover]'))
  menu.addEventListener('click', ({ target }) => { if (target.closest('a') && menu.matches(':popover-open')) menu.hidePopover(); });
`;

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** A page loads nothing: its style and its script are allowed by their hashes, and its form leads to this server. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** The parts of a page. `title` and `query` are text, `up` leads to `/docs/` (`''` or `../`), the others are HTML. */
export interface Layout {
  title: string;
  up: string;
  /** The links to all pages. */
  pages: string;
  /** The links to the headings of this page; `''` for none. */
  contents: string;
  body: string;
  /** True to link the console. */
  console: boolean;
  /** The words searched for. */
  query?: string;
}

/** Returns a whole HTML document. */
export function layOut({ title, up, pages, contents, body, console, query = '' }: Layout): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} - Offpeak</title>
<style>${style}</style>
</head>
<body>
<header>
<button type="button" popovertarget="pages">Menu</button>
<a href="${up || './'}">Offpeak</a>
${console ? `<a href="${up}../console/">Console</a>` : ''}
<form role="search" action="${up}search"><input type="search" name="q" value="${escape(query)}" maxlength="100" required placeholder="Search" aria-label="Search all pages"></form>
${contents && '<button type="button" class="of-page" popovertarget="contents">On this page</button>'}
</header>
<div class="columns">
<nav class="pages" id="pages" popover aria-label="Pages">${pages}</nav>
${contents && `<nav class="contents" id="contents" popover aria-label="On this page"><h2>On this page</h2>${contents}</nav>`}
<main>
${body}</main>
</div>
<script>${script}</script>
</body>
</html>
`;
}
