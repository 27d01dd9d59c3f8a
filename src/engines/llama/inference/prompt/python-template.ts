import { Template } from '@huggingface/jinja';
import { isObject } from '../../../../base/fields.ts';
import { pythonLength, pythonText, pythonTexts, type TemplateValue } from './python-text.ts';

interface Node {
  type: string;
  [member: string]: unknown;
}

/** Functions with names that no template can use. Each takes one list of values. */
const functions = {
  'python text': (values: TemplateValue[]) => values.map(pythonText).join(''),
  'python length': ([value]: TemplateValue[]) => pythonLength(value!),
  'python texts': ([value]: TemplateValue[]) => pythonTexts(value!),
};

/**
 * Chat template that writes values as Python does: `True`, `None`, `['a']`, lengths in characters. The template engine writes
 * them as JavaScript does, so each place that writes a value is rewritten to call one of the functions above.
 */
export function pythonTemplate(source: string): { render(variables: Record<string, unknown>): string } {
  const template = new Template(source);
  template.parsed = rewritten(template.parsed) as Template['parsed'];
  return { render: (variables) => template.render({ ...variables, ...functions }) };
}

function rewritten(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(rewritten);
  if (part instanceof Map)
    return new Map([...part].map(([key, value]) => [rewritten(key), rewritten(value)]));
  if (!isObject(part) || typeof part['type'] !== 'string') return part;
  for (const [name, member] of Object.entries(part)) {
    const given = rewritten(member);
    part[name] = bodies.has(name) && Array.isArray(given) ? (given as Node[]).map(shown) : given;
  }
  return inPython(part as Node);
}

/** Members with lists of parts to write. */
const bodies: ReadonlySet<string> = new Set(['body', 'alternate', 'defaultBlock']);

/** Parts that write nothing themselves, or text. */
const silent = new Set(
  'Program If For Break Continue Set Macro Comment CallStatement FilterStatement StringLiteral'.split(' '),
);

function shown(part: Node): Node {
  return silent.has(part.type) ? part : called('python text', [part]);
}

function inPython(node: Node): Node {
  const { type, operator, filter, operand, left, right } = node as Node & Record<string, Node>;
  if (type === 'BinaryExpression' && operator!['value'] === '~')
    return called('python text', [left!, right!]);
  if (type !== 'FilterExpression') return node;
  const name = filter!.type === 'Identifier' ? filter!['value'] : (filter!['callee'] as Node)['value'];
  if (name === 'string') return called('python text', [operand!]);
  if (name === 'length' || name === 'count') return called('python length', [operand!]);
  if (name === 'join') node['operand'] = called('python texts', [operand!]);
  return node;
}

function called(name: keyof typeof functions, values: Node[]): Node {
  const args = [{ type: 'ArrayLiteral', value: values }];
  return { type: 'CallExpression', callee: { type: 'Identifier', value: name }, args };
}
