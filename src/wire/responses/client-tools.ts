import type { ToolChoice } from '../chat/chat.ts';
import { freeTextFunction } from '../chat/free-text.ts';
import { isDefinedType, definedFunction, definedType } from './defined-tools.ts';
import type {
  FunctionFields,
  FunctionTool,
  InputItem,
  ResponsesRequest,
  ResponsesTool,
  ClientName,
} from './responses.ts';

/** A tool that the client itself runs, as a function of the chat, and where it stands in the request. */
export interface ClientTool {
  clientName: ClientName;
  fields: FunctionFields;
  /** `tools[2]`, `tools[2].function` where it is nested, `input[0].tools[1].tools[4]` in a namespace that came later. */
  path: string;
}

/** Tools of the client under the names that the model knows them by, where those are not their own. */
export type ClientNames = ReadonlyMap<string, ClientName>;

interface Item {
  item: Pick<InputItem, 'type' | 'tools'>;
  path: string;
}

/**
 * The tools that the client runs, in order; a later definition takes the place of an earlier one. Tools of other types are
 * hosted elsewhere: they are passed over.
 * @param items of the conversation: some of them bring tools
 */
export function clientTools({ tools }: ResponsesRequest, items: readonly Item[]): ClientTool[] {
  if (!tools?.length && !items.some(({ item }) => addsTools(item))) return [];
  const found = new Map<string, ClientTool>();
  const add = (tool: ClientTool) => found.set(toolKey(tool.clientName), tool);
  for (const tool of listTools(tools, 'tools')) add(tool);
  for (const { item, path } of items)
    if (addsTools(item)) for (const tool of listTools(item.tools, `${path}.tools`)) add(tool);
  const all = [...found.values()];
  return all.some(isRenamed) ? withNames(all) : all;
}

/** Tools that were found can be called in later turns. */
export const addsTools = ({ type }: Pick<InputItem, 'type'>) =>
  type === 'additional_tools' || type === 'tool_search_output';

const none: ClientNames = new Map();

/** What the model calls otherwise than the client. */
export function clientNames(tools: readonly ClientTool[]): ClientNames {
  if (tools.length === 0) return none;
  return new Map(tools.filter(isRenamed).map(({ clientName, fields }) => [fields.name, clientName]));
}

export const toolKey = ({ namespace, name }: Pick<ClientName, 'namespace' | 'name'>) =>
  `${namespace ?? ''}\n${name}`;
const isRenamed = ({ clientName }: ClientTool) =>
  clientName.type !== 'function' || clientName.namespace !== undefined;

/** The tools of a list, duplicates too. */
export function* listTools(
  tools: readonly ResponsesTool[] | null | undefined,
  path: string,
  within?: ResponsesTool,
): Generator<ClientTool> {
  for (const [index, tool] of (tools ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (tool.type === 'namespace') yield* listTools(tool.tools, `${at}.tools`, tool);
    const known = definedType(tool);
    if (known)
      yield { clientName: { type: known, name: known }, fields: definedFunction(known, tool), path: at };
    if (tool.type !== 'function' && tool.type !== 'custom') continue;
    const given = (tool.function ?? tool) as FunctionFields;
    const fields = tool.type === 'custom' ? fromCustom(tool) : given;
    yield {
      clientName: { type: tool.type, name: given.name, ...(within && { namespace: within.name! }) },
      fields: within?.description && index === 0 ? introduced(fields, within.description) : fields,
      path: tool.function ? `${at}.function` : at,
    };
  }
}

/** Nothing is promised of its calls: a server that speaks this format keeps to a grammar by itself, and is to be asked in it. */
function fromCustom({ name, description, format }: ResponsesTool): FunctionFields {
  const { strict: _, ...fields } = freeTextFunction({ name: name!, description, grammar: format });
  return fields;
}

/** The first tool of a namespace says what that is for. */
function introduced(fields: FunctionFields, about: string): FunctionFields {
  return { ...fields, description: [about, fields.description].filter(Boolean).join('\n\n') };
}

/** Names that differ, of the characters and the length that every server takes. Those without a namespace keep theirs. */
function withNames(tools: readonly ClientTool[]): ClientTool[] {
  const taken = new Set(
    tools.flatMap(({ clientName }) => (clientName.namespace === undefined ? [clientName.name] : [])),
  );
  return tools.map((tool) => {
    if (tool.clientName.namespace === undefined) return tool;
    const whole = joinedName(tool.clientName);
    let name = whole.slice(0, 64);
    for (let n = 2; taken.has(name); n++) name = `${whole.slice(0, 60)}_${n}`;
    taken.add(name);
    return { ...tool, fields: { ...tool.fields, name } };
  });
}

/** `mcp__docs__search`. What stands in `functions` is called by its name alone, as the models of this format learn it. */
export function joinedName({ namespace, name }: Pick<ClientName, 'namespace' | 'name'>): string {
  if (namespace === undefined || namespace === 'functions') return name;
  return `${namespace.replace(/_+$/, '')}__${name}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
}

/** The name a tool choice, or an entry of one, means. Tools that the format defines are called by their type. */
export function chosenName(choice: {
  type?: string;
  name?: string;
  function?: { name: string } | null;
}): string {
  const { type = '', name } = choice;
  return choice.function?.name ?? name ?? (isDefinedType(type) ? type : '');
}

type Chosen = Parameters<typeof chosenName>[0] & { namespace?: string | null };

/** Whether a tool choice, or an entry of one, means this tool. */
export function matchesChoice(choice: Chosen, { clientName }: ClientTool): boolean {
  if (choice.type === 'namespace') return clientName.namespace === choice.name;
  return (
    clientName.name === chosenName(choice) &&
    (!choice.namespace || choice.namespace === (clientName.namespace ?? null))
  );
}

/** Which tools may be called, and whether one must be: `allowed_tools` is a shorter list and a mode. */
export function toolsInEffect(
  request: ResponsesRequest,
  items: readonly Item[],
): { found: ClientTool[]; choice: ToolChoice } {
  const found = clientTools(request, items);
  const choice = request.tool_choice ?? 'auto';
  if (typeof choice === 'string') return { found, choice };
  if (choice.type === 'allowed_tools')
    return {
      found: found.filter((tool) => choice.tools?.some((entry) => matchesChoice(entry, tool))),
      choice: choice.mode ?? 'auto',
    };
  const name = found.find((tool) => matchesChoice(choice, tool))?.fields.name ?? chosenName(choice);
  return { found, choice: { type: 'function', function: { name } } };
}

/** The tools of a request that are in effect: functions flat, with every key, others as they came. */
export function presentTools({ tools }: ResponsesRequest, found: readonly ClientTool[]) {
  return (tools ?? []).flatMap((tool, index): (FunctionTool | ResponsesTool)[] => {
    if (tool.type === 'namespace') return [tool];
    const [it] = found.filter(
      ({ path }) => path === `tools[${index}]` || path === `tools[${index}].function`,
    );
    if (!it) return [];
    return [tool.type === 'function' ? presentTool(it.fields) : tool];
  });
}

function presentTool({ name, description, parameters, strict }: FunctionFields): FunctionTool {
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  };
}
