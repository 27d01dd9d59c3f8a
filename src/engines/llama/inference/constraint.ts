import type { Llama, LlamaGrammar } from 'node-llama-cpp';
import { isObject } from '../../../base/fields.ts';
import { invalid } from '../../../core/errors.ts';
import type { ChatRequest, Tool } from '../../../wire/chat/chat.ts';
import { guaranteedTools, answerRule } from '../../../wire/chat/answer-rule.ts';
import { type Analysed, UnsatisfiableGrammar, analyse } from '../grammar/analysis.ts';
import { toGbnf } from '../grammar/gbnf.ts';
import {
  type Alternative,
  type Element,
  type GrammarBuilder,
  createGrammarBuilder,
} from '../grammar/grammar.ts';
import { schemaRule } from '../grammar/json-schema.ts';
import { SchemaTooLarge, constrainsBeyond } from '../../schemas/keywords.ts';
import type { CallFormat, Family } from './families.ts';

/** Place of the answer's schema in a request. */
const formatSchema = 'response_format.json_schema.schema';

/** Grammar of a request for a schema, any JSON object, or a call. @throws ApiError 422 for schemas that it cannot express */
export function createConstraint(request: ChatRequest, family: Family): Analysed | undefined {
  const { kind, names, maxCalls: most } = answerRule(request);
  if (kind === 'text') return undefined;
  const tools = most === 0 ? [] : (request.tools ?? []).filter((tool) => names?.has(tool.function.name));
  if (kind === 'call' && tools.length === 0) throw invalid('tool_choice', 'there is no such tool');
  const param = kind === 'call' ? 'tools' : 'response_format';
  const b = createGrammarBuilder();
  const alternatives: Alternative[] = [];
  try {
    const start = family.hasChannels ? '<|channel|>final<|message|>' : '';
    if (kind === 'json') alternatives.push(b.sequence(start, formatted(b, request.response_format!)));
    // With a schema, the model may still call tools.
    if (tools.length > 0) alternatives.push(toolCalls(b, tools, request, most === 1, family.calls));
    return analyse(b.build(b.rule(alternatives)));
  } catch (error) {
    // No tool can be called; the error names the first.
    if (error instanceof UnsatisfiableGrammar)
      throw invalid(
        `${kind === 'call' ? parametersOf(request, tools[0]!) : formatSchema}#`,
        'no finite JSON value satisfies the schema',
      );
    if (error instanceof SchemaTooLarge)
      throw invalid(param, 'together they need too many rules', 'schema_too_complex');
    throw error;
  }
}

const maxCached = 32;

/** Like `createConstraint`, with the grammar of llama.cpp. Caches grammars, because a batch repeats its schemas. */
export function createConstraints(llama: Llama, family: Family) {
  const cache = new Map<string, { analysed: Analysed; grammar: LlamaGrammar }>();
  return async (request: ChatRequest) => {
    const { response_format: format, tool_choice: choice, tools, parallel_tool_calls: parallel } = request;
    const key = JSON.stringify([format, choice, tools, parallel]);
    const found = cache.get(key);
    if (found) return found;
    const analysed = createConstraint(request, family);
    if (!analysed) return undefined;
    const grammar = await llama.createGrammar({ grammar: toGbnf(analysed.grammar) });
    const made = { analysed, grammar };
    cache.set(key, made);
    const [oldest] = cache.keys();
    if (cache.size > maxCached) cache.delete(oldest!);
    return made;
  };
}

/**
 * Calls with their markers. The markers are part of the grammar instead of the prompt, so that the model tokenizes them as
 * it was trained to. Models differ in the white space between the parts.
 */
function toolCalls(
  b: GrammarBuilder,
  tools: readonly Tool[],
  request: ChatRequest,
  isOne: boolean,
  format: CallFormat,
): Alternative {
  const guaranteed = guaranteedTools(request);
  const given = (tool: Tool): Alternative =>
    guaranteed.has(tool.function.name)
      ? parameters(b, tool, parametersOf(request, tool))
      : [schemaRule(b, { type: 'object' })];
  const [line, space] = [b.optional(b.literal('\n')), b.optional(b.literal(' '))];
  const { start, end, infix } = format;
  const object = (tool: Tool): Alternative => {
    const name = b.sequence('{"name":', space, `${JSON.stringify(tool.function.name)},`, space);
    return b.sequence(name, `"${format.argumentsKey}":`, space, given(tool), '}');
  };
  const several = (one: Alternative, between: Alternative): Alternative =>
    format.isRepeatable && !isOne ? [...one, b.repeat([...between, ...one], 0, Infinity)] : one;
  switch (format.shape) {
    case 'list':
      return b.sequence(start, '[', several([b.rule(tools.map(object))], b.sequence(',', space)), ']', end);
    case 'named': {
      const named = tools.map((tool) => b.sequence(start, tool.function.name, infix, given(tool), end));
      return several([b.rule(named)], []);
    }
    default: {
      const breaks = start === '' ? [] : [line];
      return several(b.sequence(start, breaks, b.rule(tools.map(object)), breaks, end), [line]);
    }
  }
}

/** Place of a tool's parameters in the request. */
function parametersOf({ tools }: ChatRequest, tool: Tool): string {
  return `tools[${tools!.indexOf(tool)}].function.parameters`;
}

/** @param place of the parameters in the request */
function parameters(b: GrammarBuilder, tool: Tool, place: string): Alternative {
  // Some clients send null for a function without parameters.
  const schema = tool.function.parameters ?? undefined;
  if (schema === undefined || hasNoParameters(schema)) return b.literal('{}');
  return [ruleAt(place, b, schema)];
}

/** @param param place of the schema in the request */
function ruleAt(param: string, b: GrammarBuilder, schema: unknown): Element {
  try {
    return schemaRule(b, schema);
  } catch (error) {
    if (!(error instanceof SchemaTooLarge)) throw error;
    throw invalid(`${param}#`, error.message, 'schema_too_complex');
  }
}

/** True for the usual schema of a function without parameters, which literally allows any members. */
function hasNoParameters(schema: unknown): boolean {
  if (!isObject(schema) || constrainsBeyond(schema, ['type', 'properties', 'unevaluatedProperties']))
    return false;
  const { type, properties } = schema;
  return type === 'object' && isObject(properties) && Object.keys(properties).length === 0;
}

function formatted(b: GrammarBuilder, format: NonNullable<ChatRequest['response_format']>): Element {
  if (format.type !== 'json_schema') return schemaRule(b, { type: 'object' });
  const { schema } = format.json_schema;
  if (schema === undefined) throw invalid(formatSchema, 'is missing');
  return ruleAt(formatSchema, b, schema);
}
