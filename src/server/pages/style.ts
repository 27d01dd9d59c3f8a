/** The whole style sheet, part of each page. Wide screens show the two menus as columns, narrow ones as popovers. */
export const style = `
:root { color-scheme: light dark; --line: light-dark(#d5d9de, #363c44); --soft: light-dark(#f5f6f8, #1d2126);
  --link: light-dark(#0b57a4, #7cb8ff); --quiet: light-dark(#5d6670, #98a2ad); --back: light-dark(#fff, #15181c) }
* { box-sizing: border-box }
html { scroll-padding-top: 4rem }
body { margin: 0; color: light-dark(#1c2025, #dfe3e8); background: var(--back); font: 16px/1.6 system-ui, sans-serif }
header { position: sticky; top: 0; z-index: 1; display: flex; gap: .6rem; align-items: center; height: 3.2rem; padding: 0 1rem;
  background: var(--back); border-bottom: 1px solid var(--line) }
header a { font-weight: 600; color: inherit }
header form { margin-left: auto; flex: 0 1 18rem; min-width: 0 }
input, button { font: inherit; font-size: .9rem; color: inherit; background: var(--soft); border: 1px solid var(--line);
  border-radius: 6px; padding: .25rem .6rem }
input { width: 100% }
button { cursor: pointer; white-space: nowrap }
.columns { display: grid; grid-template-columns: 16rem minmax(0, 1fr) 15rem }
nav { font-size: .9rem; background: var(--back); color: inherit }
nav h2 { margin: 1.2rem 0 .2rem; padding: 0; border: 0; font-size: .75rem; text-transform: uppercase; letter-spacing: .05em;
  color: var(--quiet) }
nav ul { margin: 0; padding: 0; list-style: none }
nav li { margin: .2rem 0 }
nav .deep { padding-left: .9rem }
nav [aria-current] { font-weight: 600 }
.pages { grid-column: 1; grid-row: 1; border: 0; border-right: 1px solid var(--line) }
.contents { grid-column: 3; grid-row: 1; border: 0 }
main { grid-column: 2; grid-row: 1; padding: 1.5rem 2.5rem 5rem; max-width: 62rem; min-width: 0 }
a { color: var(--link); text-decoration: none }
a:hover { text-decoration: underline }
h1, h2, h3, h4 { line-height: 1.25; margin: 2rem 0 .7rem }
h1 { margin-top: 0 }
main h2 { padding-bottom: .3rem; border-bottom: 1px solid var(--line) }
.anchor { visibility: hidden; color: var(--quiet) }
:hover > .anchor { visibility: visible }
code { font: .875em ui-monospace, monospace; background: var(--soft); padding: .1em .3em; border-radius: 4px; overflow-wrap: anywhere }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem; margin: 0; overflow: auto }
pre code { padding: 0; background: none; overflow-wrap: normal }
.block { position: relative; margin: 1rem 0 }
.copy { position: absolute; top: .4rem; right: .4rem; opacity: 0; transition: opacity .1s }
.block:hover .copy, .copy:focus-visible { opacity: 1 }
.table { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse }
th, td { border: 1px solid var(--line); padding: .35rem .7rem; text-align: left; vertical-align: top; min-width: 6rem }
td:last-child { min-width: 14rem }
td code { overflow-wrap: normal }
.found { padding: 0; list-style: none; overflow-wrap: anywhere }
.found p { margin: 0; color: var(--quiet) }
mark { color: inherit; background: light-dark(#ffe9a8, #5c4a10) }
@media (min-width: 60rem) {
  nav { display: block; position: sticky; inset: auto; top: 3.2rem; margin: 0; padding: 1.2rem 1.2rem 2rem; width: auto;
    height: calc(100vh - 3.2rem); overflow: auto }
  header button { display: none }
}
@media (max-width: 85rem) { .columns { grid-template-columns: 16rem minmax(0, 1fr) } }
@media (max-width: 60rem) { .columns { display: block } main { padding: 1.2rem } }
@media (min-width: 60rem) and (max-width: 85rem) { .contents:not(:popover-open) { display: none } header .of-page { display: block } }
@media (max-width: 85rem) { nav:popover-open { position: fixed; inset: 3.2rem auto 0 0; margin: 0; padding: 1rem 1.2rem; width: 18rem;
    max-width: 85vw; height: auto; overflow: auto; border: 0; border-right: 1px solid var(--line); box-shadow: 0 0 2rem #0006 }
  .contents:popover-open { inset: 3.2rem 0 0 auto; border-left: 1px solid var(--line) } }
@media (hover: none) { .copy { opacity: 1 } }
`;
