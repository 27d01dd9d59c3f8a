import type * as Yaml from 'yaml';
import type { Document, LineCounter, Node, Pair } from 'yaml';
import { loadPackage } from '../base/load-package.ts';
import type { Checker, SourceValue } from './source-value.ts';

/** Value of `${name}` in a scalar; undefined if unknown. */
export type Lookup = (name: string) => string | undefined;

/**
 * Parses YAML and replaces `${name}` in every text (`$${` is a literal `${`). Syntax errors, duplicate keys and unknown variables
 * become problems of `check`; undefined if nothing can be read.
 */
export function parseSourceYaml(text: string, file: string, lookup: Lookup, check: Checker) {
  // Loaded on first use: most commands read no YAML.
  const yaml = loadPackage('yaml') as typeof Yaml;
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const reported = new Set<number>();
  for (const error of document.errors) {
    const { line } = lines.linePos(error.pos[0]);
    const bare = bareVariable.exec(text.split('\n')[line - 1] ?? '')?.[1];
    // Further errors on the line follow from the first.
    if (bare !== undefined && reported.has(line)) continue;
    reported.add(line);
    const hint = bare === undefined ? null : `Between { } and [ ] it needs quotes: "${bare}".`;
    const message =
      error.code === 'MULTIPLE_DOCS' ? 'expected one document, found another after ---' : error.message;
    check.problems.push({ file, line, message, hint });
  }
  if (document.errors.length > 0) return undefined;
  const root: Place = { file, path: '', line: 1, depth: 0, yaml, lines, document, lookup, check };
  return locate(document.contents, root);
}

/** Matches `{ key: ${NAME} }`, where YAML reads the inner braces as a mapping. */
const bareVariable = /[{[,].*?:?\s(\$\{[^}]*\})/;

/** Stops an alias to its own ancestor. */
const maxDepth = 32;

interface Place {
  file: string;
  path: string;
  /** Line for a value without a position, such as an empty one. */
  line: number;
  depth: number;
  yaml: typeof Yaml;
  lines: LineCounter;
  document: Document;
  lookup: Lookup;
  check: Checker;
}

function locate(node: Node | null, outer: Place): SourceValue {
  const { file, path } = outer;
  const line = node?.range ? outer.lines.linePos(node.range[0]).line : outer.line;
  const at: SourceValue = { file, line, path, value: null, loose: false, hidden: false };
  const place = { ...outer, line, depth: outer.depth + 1 };
  if (place.depth > maxDepth) {
    place.check.fail(at, 'nested too deeply');
  } else if (outer.yaml.isAlias(node)) {
    return locate((node.resolve(place.document) as Node | undefined) ?? null, place);
  } else if (outer.yaml.isSeq(node)) {
    at.value = node.items.map((item, i) => locate(item as Node, { ...place, path: `${path}[${i}]` }));
  } else if (outer.yaml.isMap(node)) {
    at.value = new Map(node.items.map((pair) => locatePair(pair as Pair<Node, Node | null>, place)));
  } else if (outer.yaml.isScalar(node)) {
    fill(at, node.value, place);
  }
  return at;
}

function locatePair(pair: Pair<Node, Node | null>, place: Place): [string, SourceValue] {
  const key = place.yaml.isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
  const keyLine = pair.key.range ? place.lines.linePos(pair.key.range[0]).line : place.line;
  const path = place.path === '' ? key : `${place.path}.${key}`;
  const value = locate(pair.value, { ...place, path, line: keyLine });
  return [key, { ...value, line: keyLine }];
}

function fill(at: SourceValue, value: unknown, place: Place): void {
  if (typeof value === 'string') {
    let missing = false;
    const filled = value.replace(/\$?\$\{([^}]*)\}/g, (whole, name: string) => {
      if (whole.startsWith('$$')) return whole.slice(1);
      at.loose = at.hidden = true;
      const found = place.lookup(name);
      if (found !== undefined) return found;
      missing = true;
      failUnknown(at, name, place.check);
      return '';
    });
    if (/(?<!\$)\$\{[^}]*$/.test(value))
      place.check.fail(at, 'has a ${ without its }', 'Write $${ for the text itself.');
    at.value = missing ? null : filled;
  } else if (typeof value === 'number' || typeof value === 'boolean' || value === null) {
    at.value = value;
  } else {
    at.value = JSON.stringify(value);
  }
}

function failUnknown(at: SourceValue, name: string, check: Checker): void {
  const whole = `\${${name}}`;
  if (name.startsWith('file:'))
    check.fail(at, `${whole} cannot be read`, `Make ${name.slice(5)} a file that this user can read.`);
  else if (/^\w+$/.test(name))
    check.fail(
      at,
      `${whole} is not set`,
      `Set the environment variable ${name}, or write $${whole} for the text itself.`,
    );
  else
    check.fail(
      at,
      `${whole} does not name a variable`,
      `Write \${NAME} or \${file:/path}, or $${whole} for the text itself.`,
    );
}
