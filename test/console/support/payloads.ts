/** Runs where a text becomes a script; a page that runs it has `globalThis.attacked`. */
const script = 'globalThis.attacked=1';

const vectors = [
  `<script>${script}</script>`,
  `<img src=x onerror=${script}>`,
  `<svg onload=${script}>`,
  `<svg><script>${script}</script></svg>`,
  `<body onload=${script}>`,
  `<iframe srcdoc="<script>parent.attacked=1</script>">`,
  `<iframe src="javascript:parent.attacked=1">`,
  `<object data="javascript:${script}">`,
  `<embed src="data:text/html,<script>${script}</script>">`,
  `<a href="javascript:${script}" autofocus onfocus=${script}>x</a>`,
  `<input autofocus onfocus=${script}>`,
  `<details open ontoggle=${script}>`,
  `<video><source onerror=${script}></video>`,
  `<math><mi xlink:href="javascript:${script}">x</mi></math>`,
  `<style>*{background:red!important}</style>`,
  `<link rel=stylesheet href="data:text/css,*{display:none}">`,
  `<base href="//attacker.example/">`,
  `<form action="//attacker.example/"><button>x</button></form>`,
  `<meta http-equiv=refresh content="0;url=//attacker.example/">`,
  `<img src="//attacker.example/pixel.gif">`,
  `<div style="position:fixed;inset:0;background:red">x</div>`,
  `![x](javascript:${script})`,
  `[x](javascript:${script})`,
  `javascript:${script}`,
  `{{constructor.constructor('${script}')()}}`,
];

const wrappers: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `">${text}`,
  (text) => `'--></title></textarea></script>${text}`,
  (text) => `\u202e${text}${'W'.repeat(60)}`,
];

/** One hundred texts that would run a script, load a file or break the layout where they became HTML. */
export const payloads: readonly string[] = wrappers.flatMap((wrap) => vectors.map(wrap));
