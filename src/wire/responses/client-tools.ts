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

/** Tool that the client runs, as a chat function. */
export interface ClientTool {
  clientName: ClientName;
  fields: FunctionFields;
  /** `tools[2]`; `tools[2].function` if nested; `input[0].tools[1].tools[4]` in a namespace of an item. */
  path: string;
}

/** Client's names of tools by the name that the model uses, where the two differ. */
export type ClientNames = ReadonlyMap<string, ClientName>;

interface Item {
  item: Pick<InputItem, 'type' | 'tools'>;
  path: string;
}

/**
 * Tools that the client runs, in order; a later definition replaces an earlier one. Server tools are ignored.
 * @param items conversation, some of whose items add tools
 */
export function clientTools({ tools }: ResponsesRequest, items: readonly Item[]): ClientTool[] {
  if (!tools?.length && !items.some(({ item }) => addsTools(item))) return [];
  const byKey = new Map<string, ClientTool>();
  const add = (tool: ClientTool) => byKey.set(toolKey(tool.clientName), tool);
  for (const tool of listTools(tools, 'tools')) add(tool);
  for (const { item, path } of items)
    if (addsTools(item)) for (const tool of listTools(item.tools, `${path}.tools`)) add(tool);
  const all = [...byKey.values()];
  return all.some(isRenamed) ? withUniqueNames(all) : all;
}

/** True for items that add tools; found tools can be called in later turns. */
export const addsTools = ({ type }: Pick<InputItem, 'type'>) =>
  type === 'additional_tools' || type === 'tool_search_output';

const noNames: ClientNames = new Map();

export function clientNames(tools: readonly ClientTool[]): ClientNames {
  if (tools.length === 0) return noNames;
  return new Map(tools.filter(isRenamed).map(({ clientName, fields }) => [fields.name, clientName]));
}

export const toolKey = ({ namespace, name }: Pick<ClientName, 'namespace' | 'name'>) =>
  `${namespace ?? ''}\n${name}`;
const isRenamed = ({ clientName }: ClientTool) =>
  clientName.type !== 'function' || clientName.namespace !== undefined;

/** Tools of a list, including duplicates. */
export function* listTools(
  tools: readonly ResponsesTool[] | null | undefined,
  path: string,
  within?: ResponsesTool,
): Generator<ClientTool> {
  for (const [index, tool] of (tools ?? []).entries()) {
    const toolPath = `${path}[${index}]`;
    if (tool.type === 'namespace') yield* listTools(tool.tools, `${toolPath}.tools`, tool);
    const type = definedType(tool);
    if (type) yield { clientName: { type, name: type }, fields: definedFunction(type, tool), path: toolPath };
    if (tool.type !== 'function' && tool.type !== 'custom') continue;
    const own = (tool.function ?? tool) as FunctionFields;
    const fields = tool.type === 'custom' ? fromCustom(tool) : own;
    yield {
      clientName: { type: tool.type, name: own.name, ...(within && { namespace: within.name! }) },
      fields: within?.description && index === 0 ? withIntroduction(fields, within.description) : fields,
      path: tool.function ? `${toolPath}.function` : toolPath,
    };
  }
}

/** Calls are not strict: a server that supports responses enforces the grammar itself, so the request should go there. */
function fromCustom({ name, description, format }: ResponsesTool): FunctionFields {
  const { strict: _, ...fields } = freeTextFunction({ name: name!, description, grammar: format });
  return fields;
}

/** Puts the description of a namespace before that of its first tool. */
function withIntroduction(fields: FunctionFields, about: string): FunctionFields {
  return { ...fields, description: [about, fields.description].filter(Boolean).join('\n\n') };
}

/** Makes names unique, with characters and a length that every server accepts. Tools without namespace keep theirs. */
function withUniqueNames(tools: readonly ClientTool[]): ClientTool[] {
  const taken = new Set(
    tools.flatMap(({ clientName }) => (clientName.namespace === undefined ? [clientName.name] : [])),
  );
  return tools.map((tool) => {
    if (tool.clientName.namespace === undefined) return tool;
    const fullName = joinedName(tool.clientName);
    let name = fullName.slice(0, 64);
    for (let n = 2; taken.has(name); n++) name = `${fullName.slice(0, 60)}_${n}`;
    taken.add(name);
    return { ...tool, fields: { ...tool.fields, name } };
  });
}

/** `mcp__docs__search`. Models learn to call tools of the namespace `functions` by their name alone. */
export function joinedName({ namespace, name }: Pick<ClientName, 'namespace' | 'name'>): string {
  if (namespace === undefined || namespace === 'functions') return name;
  return `${namespace.replace(/_+$/, '')}__${name}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
}

/** Choice of a tool, or an entry of one. */
interface ChoiceEntry extends Partial<Pick<ResponsesTool, 'type' | 'name'>> {
  namespace?: string | null;
  function?: { name: string } | null;
}

/** Chosen tool's name. Tools that the API defines are named by their type. */
export function chosenName({ type = '', name, function: called }: ChoiceEntry): string {
  return called?.name ?? name ?? (isDefinedType(type) ? type : '');
}

/** True if a choice, or an entry of one, names the tool. */
export function matchesChoice(choice: ChoiceEntry, { clientName }: ClientTool): boolean {
  if (choice.type === 'namespace') return clientName.namespace === choice.name;
  return (
    clientName.name === chosenName(choice) &&
    (!choice.namespace || choice.namespace === (clientName.namespace ?? null))
  );
}

/** Callable tools and the choice; `allowed_tools` shortens the list and sets the choice. */
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

/** Tools of a request that are in effect: functions flat and with every key, others unchanged. */
export function presentTools({ tools }: ResponsesRequest, found: readonly ClientTool[]) {
  return (tools ?? []).flatMap((tool, index): (FunctionTool | ResponsesTool)[] => {
    if (tool.type === 'namespace') return [tool];
    const path = `tools[${index}]`;
    const match = found.find((each) => each.path === path || each.path === `${path}.function`);
    if (!match) return [];
    return [tool.type === 'function' ? presentTool(match.fields) : tool];
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
