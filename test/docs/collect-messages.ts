// Reads the messages of errors out of the sources: the arguments of `new ApiError(code, message)`, `invalid(param, message)`,
// `{ code, message }` and of the errors that a start or a command ends with.

import { parseAst } from 'rolldown/parseAst';

interface Node {
  type: string;
  start: number;
  end: number;
  [member: string]: unknown;
}

/** One message. Its `{name}` are values that the running program puts in. */
export interface Message {
  /** A code of the catalogue, or the class of an error that has none. */
  code: string;
  text: string;
}

/** Values of parameters at one call. */
type Bindings = ReadonlyMap<string, Node>;

const errorClasses = ['StartError', 'ConfigError', 'CliError', 'ModelFileError', 'BuildError', 'EgressError'];

/** All messages in `source` (TypeScript), in its order. */
export function collectMessages(source: string): Message[] {
  const nodes = [...walk(parseAst(source, { lang: 'ts' }) as unknown as Node)];
  const found: Message[] = [];

  for (const node of nodes) {
    const name = calleeName(node);
    const values = (node['arguments'] ?? []) as Node[];
    if (name === 'ApiError' && node.type === 'NewExpression') add(node, values[0], values[1]);
    else if (name === 'invalid' && node.type === 'CallExpression') add(node, values[2], values[1], values[0]);
    else if (errorClasses.includes(name) && node.type === 'NewExpression') {
      const at = values.findIndex((value) => texts(value, new Map()).some((text) => text.includes(' ')));
      if (at >= 0) for (const text of texts(values[at], new Map())) found.push({ code: name, text });
    } else if (node.type === 'ObjectExpression') {
      const members = node['properties'] as Node[];
      const value = (key: string) =>
        members.find((member) => (member['key'] as Node | undefined)?.['name'] === key)?.['value'] as
          | Node
          | undefined;
      const code = value('code');
      const message = value('message');
      if (code && message && texts(code, new Map()).every((text) => /^[a-z_]+$/.test(text)))
        add(node, code, message);
    }
  }
  return found;

  /** The messages of one error, also where its code, message or field are parameters of the function around it. */
  function add(node: Node, code: Node | undefined, message: Node | undefined, param?: Node): void {
    for (const bindings of bindingsAround(node, [code, message, param])) {
      const codes = code ? texts(code, bindings) : ['validation_error'];
      const prefix = param ? `${texts(param, bindings)[0] ?? '{param}'}: ` : '';
      for (const each of codes.length > 0 ? codes : ['several'])
        for (const text of texts(message, bindings)) found.push({ code: each, text: prefix + text });
    }
  }

  function bindingsAround(node: Node, values: (Node | undefined)[]): Bindings[] {
    const around = nodes.findLast(
      (each) => each.type === 'FunctionDeclaration' && each.start < node.start && each.end >= node.end,
    );
    const params = ((around?.['params'] ?? []) as Node[]).map((each) => each['name'] as string);
    const isBound = values.some(
      (value) => value?.type === 'Identifier' && params.includes(value['name'] as string),
    );
    if (!around || !isBound) return [new Map()];
    const calls = nodes.filter(
      (each) =>
        each.type === 'CallExpression' && calleeName(each) === ((around['id'] as Node)['name'] as string),
    );
    return calls.map((call) => {
      const given = call['arguments'] as Node[];
      return new Map(params.flatMap((name, at) => (given[at] ? [[name, given[at]]] : [])));
    });
  }

  /** The strings that `node` can be, as far as its file shows. */
  function texts(node: Node | undefined, bindings: Bindings, depth = 0): string[] {
    if (!node || depth > 5) return [];
    const next = (each: unknown) => texts(each as Node, bindings, depth + 1);
    switch (node.type) {
      case 'Literal':
        return typeof node['value'] === 'string' ? [node['value']] : [];
      case 'TemplateLiteral': {
        const values = (node['expressions'] as Node[]).map((each) => `{${placeholder(each)}}`);
        const quasis = node['quasis'] as { value: { cooked: string } }[];
        return [quasis.map(({ value }, at) => value.cooked + (values[at] ?? '')).join('')];
      }
      case 'ConditionalExpression':
        return [...next(node['consequent']), ...next(node['alternate'])];
      case 'LogicalExpression':
        return [...next(node['left']), ...next(node['right'])];
      case 'BinaryExpression': {
        const part = (each: unknown) => next(each)[0] ?? `{${placeholder(each as Node)}}`;
        return [part(node['left']) + part(node['right'])];
      }
      case 'Identifier': {
        const name = node['name'] as string;
        const bound = bindings.get(name);
        if (bound) return bound === node ? [] : texts(bound, new Map(), depth + 1);
        const made = nodes.find(
          (each) => each.type === 'VariableDeclarator' && (each['id'] as Node)['name'] === name,
        );
        return next(made?.['init']);
      }
      case 'CallExpression': {
        const made = nodes.find(
          (each) => each.type === 'FunctionDeclaration' && (each['id'] as Node)['name'] === calleeName(node),
        );
        if (!made) return [];
        return nodes
          .filter((each) => each.type === 'ReturnStatement' && each.start > made.start && each.end < made.end)
          .flatMap((each) => next(each['argument']));
      }
      default:
        return [];
    }
  }

  /** A short name for an expression: the last name in it that says something. */
  function placeholder(node: Node): string {
    if (node.type === 'Identifier') return node['name'] as string;
    const names = source.slice(node.start, node.end).match(/[A-Za-z]+/g) ?? [];
    const saying = names.filter((name) => !silentNames.has(name));
    return (node.type === 'CallExpression' ? saying[0] : saying.at(-1)) ?? 'value';
  }
}

/** Names of functions and members that format a value. */
const silentNames = new Set(
  [
    'quoted',
    'quote',
    'String',
    'join',
    'JSON',
    'stringify',
    'describe',
    'clip',
    'Math',
    'min',
    'max',
    'floor',
    'utcDay',
  ].concat(['sizeOf', 'truncate', 'lineAndColumn', 'length', 'name', 'map', 'slice', 'toString']),
);

function calleeName(node: Node): string {
  return ((node['callee'] as Node | undefined)?.['name'] as string | undefined) ?? '';
}

function* walk(node: Node): Iterable<Node> {
  yield node;
  for (const value of Object.values(node))
    for (const each of Array.isArray(value) ? value : [value])
      if (typeof each === 'object' && each !== null && 'type' in each) yield* walk(each as Node);
}
