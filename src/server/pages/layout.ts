import { createHash } from 'node:crypto';
import { escape } from './render.ts';

/** All of the style, in each page: nothing else has to be fetched. */
const style = `
:root { color-scheme: light dark; --line: light-dark(#d5d9de, #363c44); --soft: light-dark(#f5f6f8, #1d2126);
  --link: light-dark(#0b57a4, #7cb8ff); --quiet: light-dark(#5d6670, #98a2ad) }
* { box-sizing: border-box }
body { margin: 0; display: grid; grid-template-columns: 16rem minmax(0, 1fr); color: light-dark(#1c2025, #dfe3e8);
  background: light-dark(#fff, #15181c); font: 16px/1.6 system-ui, sans-serif }
nav { padding: 1.5rem; border-right: 1px solid var(--line); height: 100vh; overflow: auto; position: sticky; top: 0; font-size: .9rem }
nav h2 { margin: 1.2rem 0 .2rem; font-size: .75rem; text-transform: uppercase; letter-spacing: .05em; color: var(--quiet) }
nav ul { margin: 0; padding: 0; list-style: none }
nav [aria-current] { font-weight: 600 }
main { padding: 1.5rem 2.5rem 5rem; max-width: 62rem }
a { color: var(--link); text-decoration: none }
a:hover { text-decoration: underline }
h1, h2, h3, h4 { line-height: 1.25; margin: 2rem 0 .7rem }
h1 { margin-top: 0 }
h2 { padding-bottom: .3rem; border-bottom: 1px solid var(--line) }
.anchor { visibility: hidden; color: var(--quiet) }
:hover > .anchor { visibility: visible }
code { font: .875em ui-monospace, monospace; background: var(--soft); padding: .1em .3em; border-radius: 4px; overflow-wrap: break-word }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem; overflow: auto }
pre code { padding: 0; background: none; overflow-wrap: normal }
table { display: block; overflow-x: auto; border-collapse: collapse }
th, td { border: 1px solid var(--line); padding: .35rem .7rem; text-align: left; vertical-align: top }
@media (max-width: 60rem) { body { display: flex; flex-direction: column-reverse } main { padding: 1.2rem; max-width: 100% }
  nav { height: auto; position: static; border: 0; border-top: 1px solid var(--line) } }
`;

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** No script, no image, no form, nothing from elsewhere; the style by its hash. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** A whole page: `nav` and `body` are HTML, `title` is text. */
export function layOut({ title, nav, body }: { title: string; nav: string; body: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} - Offpeak</title>
<style>${style}</style>
</head>
<body>
<nav aria-label="Pages">${nav}</nav>
<main>
${body}</main>
</body>
</html>
`;
}
